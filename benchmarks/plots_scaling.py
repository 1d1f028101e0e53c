"""Seconds and machines against the number of kernels: a column per data set, as figures 1 and 2 of the VSKL paper."""

from __future__ import annotations

from typing import Any

from common import ROOT

PICTURE = ROOT / "docs" / "images" / "scaling.png"
STYLES = {
    "auto": {"label": "default", "color": "C0"},
    "MirrorDescent": {"label": "MirrorDescent", "color": "C1"},
    "HessianMKL": {"label": "HessianMKL", "color": "C2"},
    "SimpleMKL": {"label": "SimpleMKL", "color": "C3"},
}


def draw(found: list[dict], tol: float) -> None:
    """The picture of docs/benchmarks.md; hollow marks are means that the time limit cut."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row["set"] for row in found))
    figure, panels = plt.subplots(
        2, len(names), figsize=(3.1 * len(names), 5.4), sharex=True, sharey="row", squeeze=False
    )
    for column, name in zip(panels.T, names, strict=True):
        column[0].set_title(name, fontsize=10)
        for panel, what in zip(column, ("seconds", "machines"), strict=True):
            for solver, style in STYLES.items():
                _curve(panel, what, [row for row in found if (row["set"], row["solver"]) == (name, solver)], style)
            panel.set(xscale="log", yscale="log")
            panel.grid(alpha=0.3, which="major")
        column[1].set_xlabel("kernels")
    panels[0, 0].set_ylabel(f"seconds to a gap of {tol:g}")
    panels[1, 0].set_ylabel("machines")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(PICTURE, dpi=90)
    plt.close(figure)


def _curve(panel: Any, what: str, rows: list[dict], style: dict) -> None:
    """Means, bars of one deviation for the seconds."""
    rows = sorted(rows, key=lambda row: row["kernels"])
    if not rows:
        return
    sizes, means = [row["kernels"] for row in rows], [row[what] for row in rows]
    if style["label"] == "MirrorDescent":
        early = [(row["kernels"], row["own"][what]) for row in rows if row["own"]["splits"]]
        label = "MirrorDescent, the paper's stop"
        panel.plot(*zip(*early, strict=True), ":", color=style["color"], linewidth=1.2, label=label)
    bars = [min(row["deviation"], 0.9 * row["seconds"]) for row in rows] if what == "seconds" else None
    panel.errorbar(sizes, means, yerr=bars, marker="o", markersize=4, linewidth=1.2, capsize=2, **style)
    cut = [i for i, row in enumerate(rows) if row["ended by the time limit"]]
    panel.plot(
        [sizes[i] for i in cut], [means[i] for i in cut], "o", mfc="white", color=style["color"], markersize=4, zorder=3
    )
