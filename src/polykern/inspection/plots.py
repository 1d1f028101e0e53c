"""Two pictures of a fitted model: the weights of its kernels, and its certified gap against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polykern.inspection._matplotlib import COLOURS, INK, MUTED, RULE, new_axes, quiet_frame
from polykern.inspection._subject import Subject, as_subject, unwrapped
from polykern.problems.result import MKLResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST_NAME = 34
# A gap can be exactly 0, and a logarithmic axis has no place for that.
SMALLEST_GAP = 1e-16


def plot_weights(
    model_or_result: Any, ax: Axes | None = None, top: int = 30, *, names: Sequence[str] | None = None
) -> Axes:
    """Horizontal bars of the kernel weights, heaviest on top; returns the axes.

    At most `top` kernels are drawn, and a line below says how many are left out and what they weigh together. Where
    every class has its own weights the bars are their means, and a dot marks each class.
    """
    if top < 1:
        raise ValueError(f"top is {top!r}, expected the number of kernels to draw, at least 1.")
    subject = as_subject(model_or_result, names)
    drawn = subject.heaviest(top)
    axes = ax if ax is not None else new_axes(5.2, weights_height(len(drawn)))
    _bars(axes, subject, drawn)
    _class_dots(axes, np.atleast_2d(subject.weights)[:, drawn])
    axes.set_xlabel(_weights_label(subject.mean_weights, drawn))
    return axes


def plot_gap(model_or_result: Any, ax: Axes | None = None, *, tol: float | None = None) -> Axes:
    """The certified relative gap against seconds, logarithmic; returns the axes.

    One line per run of the solver: one, or one per class where every class has its own weights. A mapping from labels
    to models or results draws them all, to compare. `tol` draws the tolerance that the solver was asked for; a fitted
    model brings its own.
    """
    runs = _labelled_runs(model_or_result)
    if not any(run.history for _, run in runs):
        raise ValueError("The result has an empty history, so there is no gap to plot against time.")
    axes = ax if ax is not None else new_axes(5.2, 3.4)
    for (label, run), colour in zip(runs, cycle(COLOURS)):
        _draw_gap(axes, run, label, colour)
    _finish_gap(axes, tol if tol is not None else _own_tolerance(model_or_result))
    return axes


def weights_height(n_bars: int) -> float:
    """Inches of height for `n_bars` bars and the axis below."""
    return 0.85 + 0.27 * n_bars


def _labelled_runs(models: Any) -> list[tuple[str, MKLResult]]:
    if isinstance(models, Mapping):
        return [(_run_label(str(label), run), run[1]) for label, model in models.items() for run in _runs(model)]
    return [(_run_label(run[1].solver, run), run[1]) for run in _runs(models)]


def _runs(model: Any) -> list[tuple[int | None, MKLResult]]:
    """(output, result) of every run of the solver; output is None where there was one run for all."""
    solves = as_subject(model).solves
    return [(None, solves[0])] if len(solves) == 1 else list(enumerate(solves))


def _run_label(label: str, run: tuple[int | None, MKLResult]) -> str:
    return label if run[0] is None else f"{label}, output {run[0]}"


def _own_tolerance(models: Any) -> float | None:
    """The tolerance of a fitted model, or the one that all models of a mapping share."""
    tolerances = {
        getattr(unwrapped(model), "tol", None)
        for model in (models.values() if isinstance(models, Mapping) else [models])
    }
    return tolerances.pop() if len(tolerances) == 1 else None


def _draw_gap(axes: Axes, run: MKLResult, label: str, colour: str) -> None:
    seconds = np.array([record.seconds for record in run.history])
    gaps = np.maximum([record.gap for record in run.history], SMALLEST_GAP)
    finite = np.isfinite(gaps)
    axes.plot(seconds[finite], gaps[finite], color=colour, linewidth=1.8, label=label, solid_joinstyle="round")
    axes.plot(seconds[finite][-1:], gaps[finite][-1:], "o", color=colour, markersize=5)


def _finish_gap(axes: Axes, tol: float | None) -> None:
    axes.set_yscale("log")
    axes.set_xlim(left=0.0)
    axes.set(xlabel="seconds", ylabel="certified relative gap")
    quiet_frame(axes, grid="y")
    if tol is not None:
        axes.axhline(tol, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)))
        place = axes.get_yaxis_transform()
        axes.text(1.0, 1.05 * tol, f"tol = {tol:g}", color=MUTED, size=9, ha="right", va="bottom", transform=place)
    axes.legend(frameon=False, fontsize=10, labelcolor=INK)


def _bars(axes: Axes, subject: Subject, drawn: NDArray[np.intp]) -> None:
    weights, rows = subject.mean_weights[drawn], np.arange(len(drawn))
    largest = max(float(weights.max(initial=0.0)), np.finfo(float).tiny)
    axes.barh(rows, weights, height=0.68, color=[COLOURS[0] if weight > 0 else RULE for weight in weights])
    axes.set_yticks(rows, [_short(subject.names[k]) for k in drawn])
    axes.set_xlim(0.0, 1.16 * largest)
    axes.set_ylim(len(drawn) - 0.4, -0.6)
    quiet_frame(axes, grid="x")
    for label in axes.get_yticklabels():
        label.set_color(INK)
    for row, weight in enumerate(weights):
        text = f"{weight:.{3 if weight >= 0.1 else 2}g}"
        axes.text(weight + 0.015 * largest, row, text, va="center", size=9, color=INK if weight > 0 else MUTED)


def _class_dots(axes: Axes, weights: NDArray[np.float64]) -> None:
    if len(weights) == 1:
        return
    rows = np.broadcast_to(np.arange(weights.shape[1]), weights.shape)
    axes.plot(weights.ravel(), rows.ravel(), "o", color=COLOURS[1], markersize=3.5, alpha=0.8)
    axes.set_xlim(0.0, 1.16 * max(float(weights.max()), np.finfo(float).tiny))


def _weights_label(weights: NDArray[np.float64], drawn: NDArray[np.intp]) -> str:
    left_out = len(weights) - len(drawn)
    if not left_out:
        return "kernel weight"
    rest = float(weights.sum() - weights[drawn].sum())
    return f"kernel weight ({left_out} more kernels weigh {max(rest, 0.0):.3g} together)"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
