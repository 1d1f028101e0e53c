"""The report of one fitted model: its weights, its certificate and its summary on one page."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from polykern.inspection._matplotlib import new_figure
from polykern.inspection._subject import Subject, as_subject, unwrapped
from polykern.inspection.page import Page
from polykern.inspection.plots import plot_gap, plot_weights, weights_height


def write_report(
    model_or_result: Any,
    path: str | PathLike[str] = "polykern-report.html",
    *,
    title: str = "What the kernels weigh",
    top: int = 30,
    names: Sequence[str] | None = None,
) -> Path:
    """Write one self-contained HTML page about a fitted model, and return where it is.

    The page holds the certified gap, the `top` heaviest kernels as bars and as a table, the gap against time, and the
    model's summary as text. It asks for nothing from elsewhere, and prints.
    """
    model_or_result = unwrapped(model_or_result)
    subject = as_subject(model_or_result, names)
    page = Page(title, lead=_lead(model_or_result, subject), footer="Written by polykern.")
    page.numbers(key_numbers(subject))
    page.heading("Kernel weights").figures(_figures(model_or_result, subject, top))
    page.table(["kernel", "weight", "share"], _weight_rows(subject, top), _left_out(subject, top))
    if hasattr(model_or_result, "summary"):
        page.heading("The model in words").code(model_or_result.summary())
    return page.write(path)


def _lead(model: Any, subject: Subject) -> str:
    """How the solve ended, or how the weights were chosen."""
    if subject.solved is not None:
        return subject.solved.status.value.capitalize() + "."
    return f"Kernel weights of {type(model).__name__}: there is no single problem behind them, and so no gap."


def key_numbers(subject: Subject) -> list[tuple[str, str]]:
    """(figure, what it is) of the numbers that one asks for first."""
    kept = (f"{np.count_nonzero(subject.mean_weights)} of {len(subject.names)}", "kernels kept")
    if subject.solved is None:
        return [kept]
    result = subject.solved
    return [
        kept,
        (f"{result.gap:.1e}", "certified relative gap"),
        (f"{result.seconds:.2f} s", f"to solve, by {result.solver}"),
        (str(result.n_iter), "iterations"),
    ]


def _figures(model_or_result: Any, subject: Subject, top: int) -> list[tuple[Any, str]]:
    weights = new_figure(5.2, weights_height(min(top, len(subject.names))))
    plot_weights(model_or_result, weights.subplots(), top, names=subject.names)
    figures = [(weights, "Kernel weights, heaviest first.")]
    if subject.solved is not None and any(solve.history for solve in subject.solves):
        gap = new_figure(5.2, 3.4)
        plot_gap(model_or_result, gap.subplots())
        figures.append((gap, "How far at most the solution is from the optimum, while the solver works."))
    return figures


def _weight_rows(subject: Subject, top: int) -> list[list[str]]:
    weights = subject.mean_weights
    kept = [k for k in subject.heaviest(top) if weights[k] > 0]
    return [[subject.names[k], f"{weights[k]:.4g}", f"{weights[k] / weights.sum():.1%}"] for k in kept]


def _left_out(subject: Subject, top: int) -> str:
    n_kept = np.count_nonzero(subject.mean_weights)
    smaller, zero = max(n_kept - top, 0), len(subject.names) - n_kept
    parts = []
    if smaller:
        parts.append(f"{smaller} smaller {'weight is' if smaller == 1 else 'weights are'} not listed")
    if zero:
        parts.append(f"{zero} {'kernel has' if zero == 1 else 'kernels have'} weight 0")
    return f"{', '.join(parts)}." if parts else ""
