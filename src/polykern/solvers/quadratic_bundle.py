"""Bundle of dual points with their products: a curved model of the objective, and so few machines.

Problem   min_{b in simplex} F(b),  F(b) = max_{a in A} -conj(a) - 1/2 sum_k b_k a' K_k a.
Symbols   a_1 .. a_m the dual points found so far; the model F_m is what their best mixture says (`dual_points`).
Given     a machine for fixed weights, any loss; the simplex.
Step      solve the machine at b; K_k a for every kernel, one pass, gives its products with all the points before it.
          The model is poor at first and its minimum far away: the next b is the point nearest to the last one where the
          model is below a level (as in `level.py`), found by planes of the model, which cost no kernel. For few kernels
          the level goes down to the model's minimum while what the model promises comes true. The mixed point is close
          to the next machine's solution: it starts there.
Stop      the certified gap between the best machine and the mixed dual point.
Output    weights and coefficients of the best machine.

A cutting plane keeps of a dual point its forms a' K_k a only, and mixes planes: straight lines. The products between
the points say how the objective bends from one to the other, and the mixture is the best point of their hull. So the
last steps are as quick as Newton's, without its matrix.

The level set: Lemarechal, Nemirovskii, Nesterov, New variants of bundle methods, Mathematical Programming 69, 1995.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult
from polykern.problems.support import Requirements
from polykern.regularizers.level_set import project_on_level_set
from polykern.solvers.base import Solver, first_evaluation
from polykern.solvers.best_mixture import Mixture
from polykern.solvers.dual_points import DualPoints
from polykern.solvers.run import Evaluation, Run

Array = NDArray[np.float64]

FEW_KERNELS = 64
MANY_SHARE = 0.6  # where the level lies for more
FEW_SHARE = 0.15  # where it lies for few at first, and after 0
LEAST_SHARE = 0.05  # what is taken as 0
INNER_SHARE = 0.03  # of the gap that is left: how finely machines are solved
MIXTURE_SHARE = 0.01  # of the gap that is left, and of the tolerance: how finely mixtures are found
FINEST = 1e-14  # of the first objective: rounding
MOST_LOOKS = 20  # planes of the model that are made to find one point of its level set
MOST_PLANES = 100
ABOVE = 0.05  # of the way from the level to the upper bound: as near to the level set as need be
NEGLIGIBLE = 1e-10  # weights below this are rounding of the projection, not kernels in use


@dataclass
class _State:
    points: DualPoints
    last: Evaluation
    mixture: Mixture
    share: float


class QuadraticBundle(Solver):
    """Bundle method whose model of the objective is curved: few machines, and hardly more for the last digits.

    Parameters
    ----------
    share : float, optional
        Where the level lies between the lower (0) and the upper bound (1); 0 is the model's minimum. By default 0.6 for
        more than 64 kernels; for fewer it begins at 0.15, falls to 0 where the model is right, and rises where not.

    Examples
    --------
    >>> from polykern.solvers import QuadraticBundle
    >>> QuadraticBundle(share=0.5)
    QuadraticBundle(share=0.5)
    """

    requires = Requirements(most_weight_norm=1.0)

    def __init__(self, share: float | None = None) -> None:
        self.share = share

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> _State:
        if self.share is not None and not 0 <= self.share < 1:
            raise ValueError(
                f"share of QuadraticBundle is {self.share!r}, expected a number from 0 to below 1, or None for the "
                "choice by the number of kernels."
            )
        run.keeps_scores = True
        first = first_evaluation(problem, run, start)
        points = DualPoints(problem, first.primal)
        share = FEW_SHARE if problem.bank.n_kernels <= FEW_KERNELS else MANY_SHARE
        return _State(points, first, _learn(run, points, first), share if self.share is None else self.share)

    def step(self, problem: MKLProblem, run: Run, state: _State) -> _State:
        weights, shares = state.mixture.weights, state.mixture.shares
        if state.share:
            weights, shares = _level_point(run, state)
        near = replace(state.last, coef=state.points.coef(shares)())
        lower, upper = run.hoped_bound, run.upper
        state.last = run.evaluate(weights, near=near, tol=INNER_SHARE * max(min(run.hoped_gap, 1.0), run.tol))
        if self.share is None and len(weights) <= FEW_KERNELS:
            state.share = _next_share(state.share, (state.last.primal - lower) / max(upper - lower, 1e-300))
        state.mixture = _learn(run, state.points, state.last)
        return state


def _next_share(share: float, reached: float) -> float:
    """Half of it where the machine came half as far down, from the upper bound (1), as the level had promised; else
    twice as much: near the last weights the model knows more."""
    if reached <= 0.5 * (1.0 + share):
        return 0.5 * share if share >= 2.0 * LEAST_SHARE else 0.0
    return min(max(2.0 * share, FEW_SHARE), MANY_SHARE)


def _learn(run: Run, points: DualPoints, last: Evaluation) -> Mixture:
    """Add the point of a machine, and mix anew."""
    points.add(last)
    # In units of the points: the objective may have fallen far below the first one since.
    left = max(run.upper - run.hoped_bound, run.tol * abs(run.upper)) / points.scale
    mixture = points.mix(min(max(MIXTURE_SHARE * left, FINEST), MIXTURE_SHARE))
    run.suggest(points.scale * mixture.bound, points.coef(mixture.shares))
    return mixture


def _level_point(run: Run, state: _State) -> tuple[Array, Array]:
    """The point nearest to the last weights where the model is below the level, and the mixture there.

    Planes of the model are added until it is so near enough. They stay for the next time.
    """
    points, center = state.points, state.last.weights
    upper, lower = run.upper / points.scale, run.hoped_bound / points.scale
    level = lower + state.share * (upper - lower)
    newest = np.eye(len(points.gains))[-1]
    points.planes = [*points.planes[-MOST_PLANES:], points.plane(newest), points.plane(state.mixture.shares)]
    weights, at, multipliers = center, state.mixture, None
    for _ in range(MOST_LOOKS):
        slopes = np.array([plane.slope for plane in points.planes])
        limits = level - np.array([plane.height for plane in points.planes])
        weights, multipliers = project_on_level_set(center, slopes, limits, multipliers)
        weights[weights < NEGLIGIBLE] = 0.0
        weights = weights / weights.sum()
        at = points.mix_at(weights, ABOVE * (upper - lower))
        if at.bound <= level + ABOVE * (upper - level):
            break
        points.planes.append(points.plane(at.shares))
    return weights, at.shares
