"""SILP: multiple kernel learning as a semi-infinite linear program.

Problem   min_{b in simplex} F(b),  F(b) = max_{a in A} -conj(a) - 1/2 sum_k b_k S_k(a),  S_k(a) = a' K_k a.
Symbols   b kernel weights; a dual variables of the machine (minus the paper's alpha); theta the program's value.
Given     a machine for fixed weights, any loss; the simplex, or its part of large margin (M3K).
Step      solve the machine at b, add the plane of its a to the linear program, whose minimum is the next b.
Stop      the certified gap between the best machine and the program's bound. (The paper's own test, |1 - S_t / theta_t|
          compares the newest machine with the last program: no bound, and not used.)
Output    weights and coefficients of the best machine, the mixed dual point of the last program.

Sonnenburg, Raetsch, Schaefer, Schoelkopf: Large Scale Multiple Kernel Learning, JMLR 7, 2006, Algorithm 1.
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
from polykern.solvers.level import suggest_refined
from polykern.solvers.planes import planes_for
from polykern.solvers.run import Evaluation, Run


@dataclass(frozen=True)
class _State:
    planes: CuttingPlanes
    last: Evaluation
    weights: NDArray[np.float64] | None


class SILP(Solver):
    """Wrapper algorithm of the large-scale MKL paper: machine and linear program in turn (Algorithm 1).

    Simple, for every loss, and slow in its tail: plain cutting planes jump about. Each iteration costs one machine, one
    combination of the few kernels with weight, and one pass for the quadratic forms.

    Examples
    --------
    >>> from polykern.solvers import SILP
    >>> SILP().requires.describe_norms()
    'p = 1 (the simplex)'
    """

    requires = Requirements(most_weight_norm=1.0, most_cut_norm=1.0)

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> _State:
        first = first_evaluation(problem, run, start)
        return _State(planes_for(problem, first.primal), first, None)

    def step(self, problem: MKLProblem, run: Run, state: _State) -> _State:
        last = state.last if state.weights is None else run.evaluate(state.weights, near=state.last)
        state.planes.add(last)
        model = suggest_refined(run, state.planes)
        return _State(state.planes, last, state.planes.weights_at(model.weights, run.hoped_gap, model.multipliers))
