"""From a bank and targets to a certified result: one problem, or one per output."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polykern.bank import KernelBank
from polykern.estimators._labels import Targets
from polykern.losses import Loss
from polykern.problems.machine import relative_gap
from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult, Status
from polykern.regularizers import Regularizer

# Lengths that are tried between that of the old coefficients and that of the old ones times the ratio of the costs.
_LENGTHS = 5


@dataclass(frozen=True)
class Settings:
    """The constructor's arguments, checked and resolved."""

    loss: Loss
    regularizer: Regularizer
    solver: Any
    fit_intercept: bool
    share_weights: bool
    tol: float
    max_iter: int
    time_limit: float | None
    callbacks: tuple[Callable[..., Any], ...]
    verbose: int


@dataclass(frozen=True)
class Start:
    """The result of a similar problem on the same samples, whose costs were those of the new one divided by `ratio`."""

    result: MKLResult
    ratio: float = 1.0

    def of_output(self, output: int, rows: np.ndarray) -> Start:
        """The part of one output, solved on its own on some of the samples."""
        part = self.result.parts[output]
        return replace(self, result=replace(part, coef=part.coef[rows], dual_coef=part.dual_coef[rows]))

    def for_problem(self, problem: MKLProblem) -> MKLResult:
        """The result with coefficients of the length that is best at the new costs.

        Coefficients at their bounds grow with the costs, those inside hardly: the dual objective tells, and along the
        ray of the old dual point it takes no kernel, since its quadratic part follows from the old bound.
        """
        result = self.result
        if self.ratio == 1.0:
            return result
        before = replace(problem, costs=problem.costs / self.ratio)
        inside = (1.0 - 1e-9) * result.dual_coef  # at its bound a coefficient may be outside by rounding
        quadratic = -result.dual - before.conjugate_sum(inside)
        lengths = self.ratio ** np.linspace(0.0, 1.0, _LENGTHS)
        values = [-problem.conjugate_sum(length * inside) - length**2 * quadratic for length in lengths]
        return replace(result, coef=float(lengths[int(np.argmax(values))]) * result.coef)


def solve(bank: KernelBank, targets: Targets, settings: Settings, start: Start | None = None) -> MKLResult:
    """One problem where the outputs share the kernel weights, otherwise one per output."""
    if settings.share_weights or targets.values.shape[1] == 1:
        return _solve_one(bank, targets, settings, start)
    return _solve_each(bank, targets, settings, start)


def _solve_one(bank: KernelBank, targets: Targets, settings: Settings, start: Start | None) -> MKLResult:
    regularizer = settings.regularizer.bind(bank, targets.values)
    problem = MKLProblem(bank, targets.values, settings.loss, regularizer, targets.costs, settings.fit_intercept)
    return settings.solver.solve(
        problem,
        tol=settings.tol,
        max_iter=settings.max_iter,
        time_limit=settings.time_limit,
        callbacks=settings.callbacks,
        verbose=settings.verbose,
        start=None if start is None else start.for_problem(problem),
    )


def _solve_each(bank: KernelBank, targets: Targets, settings: Settings, start: Start | None) -> MKLResult:
    """Every output on its own samples with its own kernel weights; they share the bank and the time limit."""
    began = time.perf_counter()
    parts: list[MKLResult] = []
    for column in range(targets.values.shape[1]):
        rest = None if settings.time_limit is None else settings.time_limit - (time.perf_counter() - began)
        # Whoever interrupts the first problem wants the whole fit to end: the others get one iteration each.
        hurried = any(part.status is Status.INTERRUPTED for part in parts)
        one = replace(settings, max_iter=1 if hurried else settings.max_iter)
        limit = rest if rest is None else max(rest, 1e-3)
        parts.append(_solve_column(bank, targets, column, replace(one, time_limit=limit), start))
    return _joined(tuple(parts))


def _solve_column(
    bank: KernelBank, targets: Targets, column: int, settings: Settings, start: Start | None
) -> MKLResult:
    rows = np.flatnonzero(targets.costs[:, column] > 0)
    own = Targets(targets.values[rows, column, None], targets.costs[rows, column, None])
    begin = None if start is None else start.of_output(column, rows)
    if len(rows) == bank.n_samples:
        return _solve_one(bank, own, settings, begin)
    part = _solve_one(bank.subset(rows), own, settings, begin)
    return replace(part, coef=_spread(part.coef, rows, bank), dual_coef=_spread(part.dual_coef, rows, bank))


def _spread(coef: np.ndarray, rows: np.ndarray, bank: KernelBank) -> np.ndarray:
    """Coefficients of some of the samples among those of all."""
    spread = np.zeros((bank.n_samples, coef.shape[1]))
    spread[rows] = coef
    return spread


def _joined(parts: tuple[MKLResult, ...]) -> MKLResult:
    """The results of independent problems as one: their objectives add up, and so do their bounds."""
    primal, dual = sum(part.primal for part in parts), sum(part.dual for part in parts)
    return MKLResult(
        coef=np.hstack([part.coef for part in parts]),
        weights=np.vstack([part.weights for part in parts]),
        intercept=np.concatenate([np.atleast_1d(part.intercept) for part in parts]),
        primal=primal,
        dual=dual,
        gap=relative_gap(primal, dual),
        dual_coef=np.hstack([part.dual_coef for part in parts]),
        status=next((part.status for part in parts if not part.status.converged), Status.CONVERGED),
        n_iter=sum(part.n_iter for part in parts),
        n_machines=sum(part.n_machines for part in parts),
        n_kernel_products=sum(part.n_kernel_products for part in parts),
        bytes_moved=sum(part.bytes_moved for part in parts),
        seconds=sum(part.seconds for part in parts),
        solver=parts[0].solver,
        parts=parts,
    )
