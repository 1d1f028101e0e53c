"""The level method: cutting planes that do not jump about.

Problem   min_{b in simplex} F(b),  F(b) = max_{a in A} -conj(a) - 1/2 sum_k b_k S_k(a); with groups of kernels, the
          lambda of their saddle problem (`saddle`) in place of b.
Symbols   b kernel weights; the model is the highest of all planes found so far; upper the best machine's value, lower
          the model's minimum; level = lower + share * (upper - lower).
Given     a machine for fixed weights, any loss; the simplex, or groups.
Step      the next b is the point nearest to the last one where the model is below the level; solve the machine there,
          add its plane. SILP takes the model's minimum instead, a vertex far away while the model is still poor. With
          groups the machine is solved at lambda / gamma (`group_planes`: how gamma is chosen).
Stop      the certified gap between the best machine and the mixed dual point of the linear program.
Output    weights and coefficients of the best machine.

Lemarechal, Nemirovskii, Nesterov: New variants of bundle methods, Mathematical Programming 69, 1995, section 3; for
multiple kernel learning: Xu, Jin, King, Lyu: An extended level method for efficient multiple kernel learning, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult
from polykern.problems.support import Requirements
from polykern.solvers.base import Solver, first_evaluation
from polykern.solvers.cuts import CuttingPlanes, Model
from polykern.solvers.planes import planes_for
from polykern.solvers.run import Evaluation, Run

Array = NDArray[np.float64]

# Where a model is refined: until its planes are this exact, as a share of what lies between the level and the upper
# bound (or the lower and the upper one).
EXACT = 0.2


@dataclass(frozen=True)
class _State:
    planes: CuttingPlanes
    point: Array
    last: Evaluation
    multipliers: Array | None


class Level(Solver):
    """Level bundle method: few machines to the gap, whatever the number of kernels.

    Parameters
    ----------
    share : float, default=0.6
        Where the level lies between the lower (0) and the upper bound (1).

    Examples
    --------
    >>> from polykern.solvers import Level
    >>> Level(share=0.5)
    Level(share=0.5)
    """

    requires = Requirements(most_weight_norm=1.0, grouped=True, most_cut_norm=float("inf"))

    def __init__(self, share: float = 0.6) -> None:
        self.share = share

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> _State:
        if not 0 < self.share < 1:
            raise ValueError(f"share of Level is {self.share!r}, expected a number between 0 and 1, such as 0.6.")
        first = first_evaluation(problem, run, start)
        planes = planes_for(problem, first.primal)
        point = planes.start_at(first)
        suggest_refined(run, planes)
        return _State(planes, point, first, None)

    def step(self, problem: MKLProblem, run: Run, state: _State) -> _State:
        planes = state.planes
        point, multipliers = level_point(run, planes, state.point, self.share, state.multipliers)
        last = run.evaluate(planes.weights_at(point, run.hoped_gap, multipliers), near=state.last)
        planes.add(last)
        suggest_refined(run, planes)
        return _State(planes, point, last, multipliers)


def level_point(
    run: Run, planes: CuttingPlanes, center: Array, share: float, multipliers: Array | None
) -> tuple[Array, Array]:
    """The point nearest to `center` where the model is below the level, and its multipliers for the next time."""
    level = run.hoped_bound + share * (run.upper - run.hoped_bound)
    point, found = center, np.zeros(0) if multipliers is None else multipliers
    for _ in range(planes.most_rounds):
        point, found = planes.nearest_below(center, level, found)
        if not planes.refine(point, level + EXACT * (run.upper - level)):
            break
    return planes.inside(point), found


def suggest_refined(run: Run, planes: CuttingPlanes) -> Model:
    """Tell the run the model's lower bound, made as good as is worth while; the model."""
    model = planes.suggest(run)
    for _ in range(planes.most_rounds):
        if not planes.refine(model.weights, model.bound + EXACT * max(run.upper - model.bound, 0.0)):
            break
        model = planes.suggest(run)
    return model
