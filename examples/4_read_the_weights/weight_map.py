"""Shows one row of kernel weights per setting, as a table and as a picture. Shared by the examples of this folder."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure


def table(setting: str, values, widths, weights, **extra) -> str:
    """One line per setting: the weight of each width (a dot where it is exactly 0), then the `extra` columns."""
    header = [setting, *(f"{width:g}" for width in widths), *extra]
    rows = [
        [f"{value:g}", *("." if weight == 0 else f"{weight:.3f}" for weight in row), *(f"{x:.3f}" for x in others)]
        for value, row, *others in zip(values, weights, *extra.values(), strict=True)
    ]
    sizes = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return "\n".join("  ".join(c.rjust(s) for c, s in zip(row, sizes, strict=True)) for row in [header, *rows])


def picture(path: str, setting: str, values, widths, weights, **line) -> None:
    """A column per setting, a row per width, as dark as the weight; at most one `line` above, such as the error."""
    figure = Figure(figsize=(6.4, 3.0 if not line else 3.8), layout="constrained", dpi=90)
    *upper, lower = figure.subplots(1 + len(line), 1, height_ratios=[1] * len(line) + [3], sharex=True, squeeze=False)
    shades = lower[0].imshow(np.transpose(weights), cmap="Blues", vmin=0, vmax=1, aspect="auto", origin="lower")
    lower[0].set_xticks(range(len(values)), [f"{value:g}" for value in values])
    lower[0].set_yticks(range(len(widths)), [f"{width:g}" for width in widths])
    lower[0].set(xlabel=setting, ylabel="width $2\\sigma^2$")
    figure.colorbar(shades, ax=lower[0], label="kernel weight")
    for (axes,), (label, numbers) in zip(upper, line.items(), strict=True):
        axes.plot(range(len(values)), numbers, "o-", color="C1", markersize=4)
        axes.set(ylabel=label.replace("_", " "), ylim=(0, None))
    figure.savefig(path, metadata={"Software": None})
    print(f"The picture: {path}")
