"""HessianMKL: Newton's method on the kernel weights.

Problem   min_{b in simplex} F(b),  F(b) = max_{a in A} -conj(a) - 1/2 sum_k b_k S_k(a),  S_k(a) = a' K_k a.
Symbols   b kernel weights; g = -1/2 S the gradient of F, H its second derivatives at the machine's solution a: with
          G_k = K_k a on the free variables, H_kl = G_k' M^-1 G_l (see `curvature.py`: one formula for every loss).
Given     a machine for fixed weights, any loss; the simplex; room for one matrix over the free variables.
Step      minimise the quadratic model  g' d + 1/2 d' H d  with b + d in the simplex, a small quadratic program, and go
          there: the whole way if the slope of F along d has all but vanished, otherwise to where it does. Where the
          machine's solution is not unique F has a kink that no quadratic shows: after a step that closes too little of
          the gap, one step of the level method follows, on the planes of all machines.
Stop      the certified gap; the lower bound mixes all visited dual points (see `cuts.py`).
Output    weights and coefficients of the best machine.

Chapelle, Rakotomamonjy: Second order optimization of kernel parameters, NIPS Workshop on Kernel Learning, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult
from polykern.problems.support import Requirements
from polykern.solvers.base import Solver, first_evaluation
from polykern.solvers.curvature import curvature_root
from polykern.solvers.cuts import CuttingPlanes
from polykern.solvers.level import level_point
from polykern.solvers.run import Evaluation, Run
from polykern.solvers.simplex_quadratic import minimize_quadratic
from polykern.solvers.slope_search import SlopeSearch

Array = NDArray[np.float64]

PRECISION = 0.01  # machines are solved so much finer than for cutting planes: their slopes make the steps
SLOPE_SHARE = 0.25  # a step is taken whole where the slope at its end is at most this share of the first one
ENOUGH = 0.5  # of the gap: a step that closes less is followed by one of the level method
LEVEL_SHARE = 0.6  # where the level of such a step lies between the lower and the upper bound


@dataclass(frozen=True)
class _State:
    planes: CuttingPlanes
    current: Evaluation
    precision: float
    multipliers: Array | None = None


class HessianMKL(Solver):
    """Newton's method on the weights: few machines, each with its second derivatives.

    Parameters
    ----------
    max_search : int, default=8
        Machines per line search, at most.
    max_kernels : int, default=200
        Kernels that a Newton step may move: all that have weight, and the steepest of the others up to this number.

    Examples
    --------
    >>> from polykern.solvers import HessianMKL
    >>> HessianMKL(max_search=4)
    HessianMKL(max_search=4)
    """

    requires = Requirements(most_weight_norm=1.0, in_memory=True, joint_loss=False)

    def __init__(self, max_search: int = 8, max_kernels: int = 200) -> None:
        self.max_search = max_search
        self.max_kernels = max_kernels

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> _State:
        first = first_evaluation(problem, run, start)
        planes = CuttingPlanes(problem.bank.n_kernels, first.primal)
        planes.add(first)
        planes.suggest(run)
        return _State(planes, first, PRECISION)

    def step(self, problem: MKLProblem, run: Run, state: _State) -> _State:
        gap = run.hoped_gap
        if gap <= run.tol:  # the start is good enough
            return state
        search = SlopeSearch(run, state.planes, state.precision)
        current = state.current
        direction = self._direction(problem, current)
        if float(current.gradient @ direction) < 0.0:
            current = search.along(current, direction, 1.0, first=1.0, most=self.max_search, slope_share=SLOPE_SHARE)
        state.planes.suggest(run)
        if run.hoped_gap <= max(run.tol, (1.0 - ENOUGH) * gap):
            return replace(state, current=current)
        return self._level_step(run, state, current)

    def _direction(self, problem: MKLProblem, at: Evaluation) -> Array:
        """From the weights to the minimum of the quadratic model."""
        order = np.argsort(np.where(at.weights > 0, -np.inf, at.gradient), kind="stable")
        kernels = np.sort(order[: max(self.max_kernels, np.count_nonzero(at.weights))])
        root = curvature_root(problem, at, kernels)
        hessian, weights = root.T @ root, at.weights[kernels]
        target = minimize_quadratic(hessian, at.gradient[kernels] - hessian @ weights)
        direction = np.zeros_like(at.weights)
        direction[kernels] = target - weights
        return direction

    def _level_step(self, run: Run, state: _State, current: Evaluation) -> _State:
        """One machine at the level method's point; where no step was better, finer machines from here on."""
        weights, multipliers = level_point(run, state.planes, current.weights, LEVEL_SHARE, state.multipliers)
        search = SlopeSearch(run, state.planes, state.precision)
        trial = search.visit(weights, near=current)
        current, precision = min(trial, current, key=lambda at: at.lower), state.precision
        if current is state.current:
            precision *= 0.1
            current = SlopeSearch(run, state.planes, precision).visit(current.weights, near=current)
        state.planes.suggest(run)
        return _State(state.planes, current, precision, multipliers)
