"""Closed-form weights for p-norm multiple kernel learning, p > 1.

Problem   min over f_1..f_F of  1/2 | (|f_k|)_k |_r^2 + losses,  r = 2p / (p + 1), weights in the ball |b|_p <= 1.
Symbols   t_k = |f_k| = b_k sqrt(S_k) the block norms of the machine's solution at b.
Given     a machine for fixed weights, any loss.
Step      solve the machine at b; b_k = t_k^{2/(p+1)} / (sum_j t_j^r)^{1/p}, the minimiser for these block norms.
Stop      the certified gap. p = inf is the plain sum: one machine.
Output    weights and coefficients of the best machine.

Kloft, Brefeld, Sonnenburg, Zien: lp-norm multiple kernel learning, JMLR 12, 2011, Algorithm 1.
"""

from __future__ import annotations

import numpy as np

from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult
from polykern.problems.support import Requirements
from polykern.solvers.base import Solver, first_evaluation
from polykern.solvers.run import Evaluation, Run


class LpAnalytic(Solver):
    """Alternate between the machine and the closed-form weights, for p-balls with p > 1.

    Examples
    --------
    >>> from polykern.solvers import LpAnalytic
    >>> LpAnalytic().requires.describe_norms()
    '1 < p <= inf'
    """

    requires = Requirements(open_below=True)

    def init(self, problem: MKLProblem, run: Run, start: MKLResult | None) -> Evaluation | None:
        return None if start is None else first_evaluation(problem, run, start)

    def step(self, problem: MKLProblem, run: Run, state: Evaluation | None) -> Evaluation:
        if state is None:
            return first_evaluation(problem, run, None)
        norms = state.weights * np.sqrt(np.maximum(state.forms, 0.0))
        return run.evaluate(problem.regularizer.weights(norms), near=state)
