"""Sequential minimal optimisation for the piecewise-linear losses: hinge, epsilon-insensitive, one-class.

    max_a  linear'a - kink'|a| - 1/2 a'Ka      lower <= a <= upper,  sum a = bias_sum where there is a bias

is the dual of  min_{a, bias} 1/2 a'Ka + sum_i C_i loss((Ka)_i + bias, y_i) + bias_sum * bias. One form serves all
three: regression keeps one variable per sample, with a kink at 0, instead of two that exclude each other.

Given     K, the linear form and the bounds of the loss, and any starting point
Stop      primal - dual <= tol * |primal|, both of the problem itself, at the one a that is returned
Output    a, the best bias, K a, and the two bounds

`decomposition` chooses what to move, `smo_core` moves it.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from polykern.machines.base import Machine, MachineSolution, certify, check_sizes, feasible_start, out_of_time
from polykern.machines.decomposition import Descent
from polykern.machines.matrix import CombinedMatrix
from polykern.problems.machine import MachineProblem

_FINEST_GOAL = 1e-17  # of the estimated gap: nothing finer can be told apart in floating point


@dataclass(frozen=True)
class SMO(Machine):
    """SMO with second-order selection on working sets, for piecewise-linear losses.

    Parameters
    ----------
    working_set : int
        Variables moved at a time; more where more of them are free and the matrix is in memory.
    """

    working_set: int = 1024

    def solve(
        self,
        matrix: CombinedMatrix,
        problem: MachineProblem,
        *,
        coef: ArrayLike | None = None,
        intercept: float = 0.0,
        tol: float = 1e-4,
        deadline: float | None = None,
    ) -> MachineSolution:
        """Coefficients whose relative duality gap is at most `tol`, or the best that floating point or time allowed.

        The bias follows from the coefficients: `intercept` is not needed.
        """
        check_sizes(matrix, problem, tol)
        descent = Descent(matrix, problem, feasible_start(problem, coef), self.working_set)
        goal = tol
        while True:
            descent.descend(goal, deadline)
            descent.refresh()
            solution = certify(problem, descent.point.coef, descent.outputs, descent.n_steps)
            if solution.gap <= tol or descent.stalled or goal < _FINEST_GOAL or out_of_time(deadline):
                return solution
            goal *= min(0.5, max(0.01, 0.5 * tol / solution.gap))
