"""The one door to matplotlib, which is optional, and the look of all plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, RULE = "#1f2933", "#66727f", "#d9dee4"
# Told apart by everyone, in print too: the palette of Okabe and Ito, with a darker blue first.
COLOURS = ("#1b5e8c", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#666666")


def new_axes(width: float, height: float) -> Axes:
    """Axes in a new figure of `width` x `height` inches, through pyplot so that notebooks and plt.show() find it."""
    _require_matplotlib()
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def new_figure(width: float, height: float) -> Figure:
    """A figure that no window and no global list knows of: for files and pages."""
    _require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def quiet_frame(axes: Axes, *, grid: str) -> None:
    """Only the axis lines that are read, and a light grid along `grid` ("x", "y" or "both")."""
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(side == "bottom")
    axes.spines["bottom"].set_color(RULE)
    axes.grid(axis=grid, color=RULE, linewidth=0.7)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0, colors=MUTED, labelsize=10)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set(color=MUTED, size=10)
    axes.title.set(color=INK, size=11)


def _require_matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            'The plots of polykern need matplotlib, which is not installed: pip install "polykern[plot]".'
        ) from error
    return matplotlib
