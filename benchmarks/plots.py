"""Certified gap against time, one panel per problem."""

from __future__ import annotations

import numpy as np
from common import ROOT

PICTURE = ROOT / "docs" / "images" / "speed.png"
MOST_POINTS = 25
SMALLEST_GAP = 1e-8
OTHERS = {
    "InteriorPoint": "C3",
    "QuadraticBundle": "C4",
    "Level": "C5",
    "SILP": "C6",
    "Chunking": "C8",
    "SimpleMKL": "C9",
    "HessianMKL": "gold",
    "MirrorDescent": "black",
}


def thinned(result) -> list[list[float]]:
    """[seconds, gap] of some iterations, evenly spread, ending with the certified gap; the gap never goes up."""
    seconds = [record.seconds for record in result.history[:-1]] + [result.seconds]
    gaps = np.minimum.accumulate([record.gap for record in result.history[:-1]] + [result.gap])
    chosen = np.unique(np.linspace(0, len(gaps) - 1, MOST_POINTS).astype(int))
    return [[float(f"{seconds[i]:.3g}"), float(f"{max(gaps[i], SMALLEST_GAP):.2g}")] for i in chosen]


def draw(measured: list[dict]) -> None:
    """The picture of docs/benchmarks.md."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(measured), figsize=(3.4 * len(measured), 3.3), sharey=True, squeeze=False)
    for panel, problem in zip(panels[0], measured, strict=True):
        _draw_problem(panel, problem)
    panels[0, 0].set_ylabel("certified gap")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=-(-len(labels) // 2), frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    figure.savefig(PICTURE, dpi=90)
    plt.close(figure)


def _draw_problem(panel, problem: dict) -> None:
    panel.axvline(problem["floor"], color="0.6", linestyle=":", label="one pass + SVC on the mean kernel")
    for run in problem["runs"]:
        drawn = _style(run)
        if drawn:
            seconds, gaps = np.array(run["history"]).T
            panel.plot(seconds, gaps, marker=".", markersize=4, linewidth=1.2, **drawn)
    panel.set(xscale="log", yscale="log", xlabel="seconds", ylim=(1e-7, 3))
    panel.set_title(f"{problem['problem']}: {problem['kernels']} kernels, n = {problem['n']}", fontsize=9)
    panel.grid(alpha=0.3, which="major")


def _style(run: dict) -> dict | None:
    """The default solver to 1e-6 in strong colours, the others at p = 1 thin; the default one to 1e-3 is not drawn."""
    if run["solver"] == "auto":
        colour = {1.0: "C0", 1.25: "C1", 2.0: "C2"}[run["p"]]
        return {"label": f"default, p = {run['p']:g}", "color": colour} if run["tol"] < 1e-3 else None
    return {"label": f"{run['solver']}, p = 1", "color": OTHERS.get(run["solver"], "0.5"), "alpha": 0.6}
