"""What works with what, from declared facts: the table in the docs and the error messages are made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from polykern.losses import Loss
from polykern.regularizers import Regularizer

if TYPE_CHECKING:
    from polykern.problems.mkl import MKLProblem


@dataclass(frozen=True)
class Requirements:
    """What a solver needs of a problem.

    The norm p of the weight set lies between `least_weight_norm` (left out if `open_below`) and `most_weight_norm`;
    `grouped` admits groups of kernels (GroupedNorm), whose weights lie in no ball, with q from `least_group_q`.
    `most_outputs` and `most_variables` (outputs x samples) bound the size, `in_memory` asks for room for one combined
    kernel; `joint_loss` and `single_loss` admit losses that look at all outputs of a sample together, or at each
    on its own, `most_cut_norm` weights
    that meet a condition on their margin (MarginSimplex), with q up to that. `mixed` admits norms beside which every
    block norm has a price of its own (MixedNorm), `bias` a bias. A solver that is not `exact` stops after so many
    epochs, not at the tolerance, unless it is asked to.
    """

    least_weight_norm: float = 1.0
    most_weight_norm: float = float("inf")
    open_below: bool = False
    smooth_loss: bool | None = None
    most_outputs: float = float("inf")
    most_variables: float = float("inf")
    in_memory: bool = False
    grouped: bool = False
    least_group_q: float = 0.5
    joint_loss: bool = True
    single_loss: bool = True
    most_cut_norm: float = 0.0
    mixed: bool = False
    bias: bool = True
    exact: bool = True

    def admits_norm(self, p: float) -> bool:
        """The weight set |b|_p <= 1 is within reach."""
        above = p > self.least_weight_norm if self.open_below else p >= self.least_weight_norm
        return above and p <= self.most_weight_norm

    def describe_norms(self) -> str:
        """The range of p in words."""
        if self.least_weight_norm == self.most_weight_norm:
            return f"p = {self.least_weight_norm:g} (the simplex)"
        sign = "<" if self.open_below else "<="
        return f"{self.least_weight_norm:g} {sign} p <= {self.most_weight_norm:g}"


class Declares(Protocol):
    """Anything with declared requirements: a solver."""

    requires: Requirements


def why_not(solver: Declares, loss: Loss, regularizer: Regularizer) -> str | None:
    """None where `solver` handles this loss and regularizer, otherwise the sentence that says why not."""
    name = type(solver).__name__
    p = getattr(regularizer, "weight_norm", None)
    if p is None:
        if regularizer.cut and solver.requires.most_cut_norm:
            return _why_not_cut(solver, loss, regularizer) or _why_not_loss(solver, loss)
        if regularizer.mixed and solver.requires.mixed:
            if getattr(regularizer, "p", 2.0) <= 1.0:
                return f"{name} handles MixedNorm with p > 1; this one has p = 1, which is not strongly convex."
            return _why_not_loss(solver, loss)
        if not (regularizer.grouped and solver.requires.grouped):
            return f"{name} does not handle {type(regularizer).__name__}."
        q, least = float(getattr(regularizer, "q", 1.0)), solver.requires.least_group_q
        if q < least:
            return f"{name} handles groups with q >= {least:g}; {type(regularizer).__name__} has q = {q:g}."
    elif not solver.requires.admits_norm(p):
        return f"{name} handles weight sets with {solver.requires.describe_norms()}; {_in_weights(regularizer)}."
    return _why_not_loss(solver, loss)


def _why_not_cut(solver: Declares, loss: Loss, regularizer: Regularizer) -> str | None:
    if loss.targets not in ("signs", "classes"):
        return f"{type(regularizer).__name__} is about classes, and {type(loss).__name__} has none."
    q, most = float(getattr(regularizer, "q", 1.0)), solver.requires.most_cut_norm
    if q <= most:
        return None
    return f"{type(solver).__name__} handles MarginSimplex with q <= {most:g}; this one has q = {q:g}."


def _why_not_loss(solver: Declares, loss: Loss) -> str | None:
    name = type(solver).__name__
    if loss.needs_intercept and not solver.requires.bias:
        return f"{name} has no bias; {type(loss).__name__} needs one."
    if not loss.joint and not solver.requires.single_loss:
        return f"{name} handles losses of all outputs together; {type(loss).__name__} looks at each on its own."
    if loss.joint and not solver.requires.joint_loss:
        return f"{name} handles losses of single outputs; {type(loss).__name__} looks at all of them together."
    if solver.requires.smooth_loss is not None and solver.requires.smooth_loss != loss.smooth:
        kind = "smooth" if solver.requires.smooth_loss else "piecewise linear"
        return f"{name} handles {kind} losses only; {type(loss).__name__} is not."
    return None


def _in_weights(regularizer: Regularizer) -> str:
    """The regularizer with its parameter, and the p of its weight set where that is another number."""
    name, p, own = type(regularizer).__name__, regularizer.weight_norm, getattr(regularizer, "p", None)
    if own is None:
        return f"{name}() has p = {p:g}"
    return (
        f"{name}(p={own:g}) has p = {p:g}" if own == p else f"{name}(p={own:g}), which is LpBall({p:g}), has p = {p:g}"
    )


def why_not_here(solver: Declares, problem: MKLProblem) -> str | None:
    """`why_not`, and whether the size of this problem is within reach."""
    name, requires = type(solver).__name__, solver.requires
    outputs, variables = problem.n_outputs, problem.targets.size
    if outputs > requires.most_outputs:
        return f"{name} handles {requires.most_outputs} output; this problem has {outputs} that share their weights."
    if variables > requires.most_variables:
        return f"{name} handles up to {requires.most_variables:g} dual variables; this problem has {variables}."
    if problem.fit_intercept and not requires.bias:
        return f"{name} has no bias, and fit_intercept is True; set it to False."
    if requires.in_memory and not problem.bank.fits_combined:
        return f"{name} needs room for one (n, n) matrix, and the memory budget has none."
    return why_not(solver, problem.loss, problem.regularizer)


def supports(solver: Declares, loss: Loss, regularizer: Regularizer) -> bool:
    """The solver handles this pair."""
    return why_not(solver, loss, regularizer) is None


def require_supported(solver: Declares, problem: MKLProblem, alternatives: tuple[Declares, ...] = ()) -> None:
    """Raise with the reason and the way out where `solver` does not handle this problem."""
    reason = why_not_here(solver, problem)
    if reason is None:
        return
    able = [type(other).__name__ for other in alternatives if why_not_here(other, problem) is None]
    way_out = f" Use solver='auto' or one of: {', '.join(able)}." if able else " Use solver='auto'."
    raise ValueError(reason + way_out)


def support_table(
    solvers: tuple[Declares, ...], losses: tuple[Loss, ...], regularizers: tuple[tuple[str, Regularizer], ...]
) -> str:
    """Markdown table: one row per solver, one column per weight set, the losses in the cells."""
    header = ["solver", *(label for label, _ in regularizers)]
    rows = [header, ["---"] * len(header)]
    for solver in solvers:
        cells = [_cell([loss for loss in losses if supports(solver, loss, reg)], losses) for _, reg in regularizers]
        rows.append([f"`{type(solver).__name__}`", *cells])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cell(able: list[Loss], losses: tuple[Loss, ...]) -> str:
    if len(able) == len(losses):
        return "all losses"
    return ", ".join(type(loss).__name__ for loss in able) or "-"


__all__ = ["Requirements", "require_supported", "support_table", "supports", "why_not", "why_not_here"]
