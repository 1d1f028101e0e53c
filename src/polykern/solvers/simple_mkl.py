"""SimpleMKL: reduced gradient descent on the kernel weights.

Problem   min_{b in simplex} F(b); F is differentiable where the machine's solution is unique, dF/db_k = -1/2 S_k.
Symbols   b kernel weights; D the reduced gradient direction; mu the largest weight, which balances the others' changes.
Given     a machine for fixed weights, any loss; the simplex.
Step      go along D to the border as long as F falls (each stop at the border drops one kernel and re-aims D), then
          search the last segment for the minimum. The slope of F along D is free with every machine, -1/2 S . D, so the
          search follows the slope's zero instead of comparing values.
Stop      the certified gap; the lower bound mixes all visited dual points (see `cuts.py`).
Output    weights and coefficients of the best machine.

Rakotomamonjy, Bach, Canu, Grandvalet: SimpleMKL, JMLR 9, 2008, Algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult
from polykern.problems.support import Requirements
from polykern.solvers.base import Solver, first_evaluation
from polykern.solvers.cuts import CuttingPlanes
from polykern.solvers.run import Evaluation, Run
from polykern.solvers.slope_search import PRECISION, SlopeSearch

Array = NDArray[np.float64]

FIRST_LOOK = 0.1  # of the way to the border: where a line search looks first


@dataclass(frozen=True)
class _State:
    planes: CuttingPlanes
    current: Evaluation
    precision: float


class SimpleMKL(Solver):
    """Reduced gradient with exact line search (SimpleMKL).

    Parameters
    ----------
    max_search : int, default=12
        Machines per line search, at most.
    slope_share : float, default=0.05
        The line search ends where the slope has fallen to this share of what it was.

    Examples
    --------
    >>> from polykern.solvers import SimpleMKL
    >>> SimpleMKL(max_search=8)
    SimpleMKL(max_search=8)
    """

    requires = Requirements(most_weight_norm=1.0)

    def __init__(self, max_search: int = 12, slope_share: float = 0.05) -> None:
        self.max_search = max_search
        self.slope_share = slope_share

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> _State:
        first = first_evaluation(problem, run, start)
        planes = CuttingPlanes(problem.bank.n_kernels, first.primal)
        planes.add(first)
        planes.suggest(run)
        return _State(planes, first, PRECISION)

    def step(self, problem: MKLProblem, run: Run, state: _State) -> _State:
        search = SlopeSearch(run, state.planes, state.precision)
        current, direction = _to_border(search, state.current, reduced_gradient(state.current))
        if direction is not None:
            reach, _ = _longest_step(current.weights, direction)
            current = search.along(
                current, direction, reach, first=FIRST_LOOK, most=self.max_search, slope_share=self.slope_share
            )
        state.planes.suggest(run)
        if current is not state.current:
            return _State(state.planes, current, state.precision)
        # No step was better: what looks like a descent direction is the error of the machines. Solve them finer.
        finer = SlopeSearch(run, state.planes, 0.1 * state.precision)
        return _State(state.planes, finer.visit(current.weights, near=current), 0.1 * state.precision)


def reduced_gradient(at: Evaluation) -> Array:
    """Descent direction inside the simplex: every weight against the largest one; weights at zero may only grow."""
    weights, gradient = at.weights, at.gradient
    largest = int(np.argmax(weights))
    relative = gradient - gradient[largest]
    direction = np.where((weights <= 0) & (relative > 0), 0.0, -relative)
    direction[largest] = 0.0
    direction[largest] = -direction.sum()
    return direction


def _to_border(search: SlopeSearch, current: Evaluation, direction: Array) -> tuple[Evaluation, Array | None]:
    """Accept whole steps to the border while they lower F; the place reached and the direction left to search."""
    for _ in range(len(direction)):
        reach, leaving = _longest_step(current.weights, direction)
        if leaving is None:
            return current, None
        trial = search.visit(_moved(current.weights, direction, reach, leaving), near=current)
        if trial.lower >= current.lower:
            return current, direction
        current = trial
        direction = _drop(direction, leaving, int(np.argmax(current.weights)))
        if float(current.gradient @ direction) >= 0.0:
            return current, None
    return current, None


def _longest_step(weights: Array, direction: Array) -> tuple[float, int | None]:
    """Largest step that keeps the weights >= 0, and the kernel that reaches zero there."""
    falling = np.flatnonzero((direction < 0) & (weights > 0))
    if not len(falling):
        return 0.0, None
    ratios = -weights[falling] / direction[falling]
    first = int(np.argmin(ratios))
    return float(ratios[first]), int(falling[first])


def _moved(weights: Array, direction: Array, step: float, leaving: int) -> Array:
    moved = weights + step * direction
    moved[leaving] = 0.0
    return moved


def _drop(direction: Array, leaving: int, largest: int) -> Array:
    """The direction without the kernel that has left, still summing to zero."""
    kept = direction.copy()
    kept[leaving] = 0.0
    kept[largest] -= kept.sum()
    return kept
