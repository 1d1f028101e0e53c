"""The loop that every solver shares: tolerance, limits, callbacks, progress, Ctrl-C."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from polykern.parallel import one_blas_thread
from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult, Status
from polykern.problems.support import Requirements, require_supported
from polykern.solvers.progress import ProgressLines
from polykern.solvers.run import Callback, Evaluation, Run

Array = NDArray[np.float64]

# Dual variables up to which BLAS threads cost more than they save: matrices of this size are a few milliseconds' work.
SMALL = 1000
ROUNDING = 1e-14  # of the largest weight: what a projection leaves where there was nothing


class Solver(BaseEstimator):
    """An algorithm: where it starts and what one step does. It never changes the optimum, only the way to it.

    A subclass declares what it `requires` and writes `init` and `step`; both call `run.evaluate(weights)`, which
    keeps the best bounds by itself, so that nothing is lost however a solve ends.
    """

    requires: ClassVar[Requirements] = Requirements()

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> Any:
        """The state before the first step."""
        raise NotImplementedError

    def step(self, problem: MKLProblem, run: Run, state: Any) -> Any:
        """The state after one iteration."""
        raise NotImplementedError

    def solve(
        self,
        problem: MKLProblem,
        *,
        tol: float = 1e-3,
        max_iter: int = 1000,
        time_limit: float | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int = 0,
        start: MKLResult | None = None,
    ) -> MKLResult:
        """Minimise until the certified relative gap is within `tol`.

        Parameters
        ----------
        callbacks : callables (record, weights) -> bool or None
            Called after every iteration with its `Record` and the best weights so far; True stops.
        start : MKLResult, optional
            Go on from the weights of an earlier result.
        """
        require_supported(self, problem, _alternatives())
        shown = [ProgressLines()] if verbose else []
        run = Run(problem, tol=tol, max_iter=max_iter, time_limit=time_limit, callbacks=[*shown, *callbacks])
        with one_blas_thread() if problem.targets.size <= SMALL else nullcontext():
            status = self._loop(problem, run, start)
        return run.result(status, type(self).__name__)

    def _loop(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> Status:
        """Step until a status ends it; Ctrl-C ends it with what is there, unless nothing is."""
        try:
            state = self.init(problem, run, start)
            while True:
                state = self.step(problem, run, state)
                status = run.after_step()
                if status is not None:
                    return status
        except KeyboardInterrupt:
            if run.best is None:
                raise
            return Status.INTERRUPTED


def first_evaluation(problem: MKLProblem, run: Run, start: MKLResult | None) -> Evaluation:
    """The machine at the uniform weights, or at those of an earlier result."""
    if start is None:
        return run.evaluate(problem.regularizer.start(problem.bank.n_kernels))
    expected = (problem.bank.n_kernels,)
    if start.weights.shape != expected:
        raise ValueError(f"start has weights of shape {start.weights.shape}, expected {expected} for these kernels.")
    return run.evaluate(_with_room(problem, start.weights), near=_as_evaluation(problem, start))


def _with_room(problem: MKLProblem, weights: Array) -> Array:
    """The weights in the weight set of this problem; where no optimum has zeros, none starts at zero.

    A sparse result is a start for p > 1 too, but closed-form steps multiply the weights, and zero they leave zero.
    """
    regularizer = problem.regularizer
    inside = regularizer.project(weights)
    if regularizer.sparse:
        return np.where(inside < ROUNDING * inside.max(), 0.0, inside)  # what was exactly zero is so again
    if np.all(inside[~problem.bank.null] > 0):
        return inside
    return regularizer.project(0.5 * inside + 0.5 * regularizer.start(len(inside)))


def _as_evaluation(problem: MKLProblem, start: MKLResult) -> Evaluation | None:
    """The earlier result's coefficients as a place to start from, where the samples are the same."""
    if start.coef.shape != problem.targets.shape:
        return None
    nothing = np.zeros(problem.bank.n_kernels)
    return Evaluation(start.weights, start.coef, start.intercept, start.coef, nothing, 0.0, np.inf, -np.inf)


def constant_output_partner(problem: MKLProblem) -> Array:
    """(n, T) dual point that belongs to outputs that are constant: where to start without a machine."""
    nothing = np.zeros(problem.targets.shape)
    intercept = problem.best_intercept(nothing)
    return np.column_stack([part.dual_point(nothing[:, at], intercept[at]) for at, part in problem.parts()])


def best_length(problem: MKLProblem, coef: Array, conjugate: float) -> float:
    """length of the powers of 1/2 for which length * coef has the largest dual value; `conjugate` is Omega* at coef.

    1 where the sum of the coefficients is given (one-class): there is no ray.
    """
    if problem.loss.bias_sum:
        return 1.0
    lengths = 0.5 ** np.arange(40.0)
    values = [-problem.conjugate_sum(length * coef) - length**2 * conjugate for length in lengths]
    return float(lengths[int(np.argmax(values))])


def _alternatives() -> tuple[Solver, ...]:
    from polykern.solvers.auto import ALL

    return tuple(solver() for solver in ALL)
