"""Newton's method in the primal for the smooth losses: squared hinge, smooth hinge, logistic, squared.

    min_{a, bias}  1/2 a'Ka + sum_i C_i loss(z_i, y_i) + bias_sum * bias,   z = Ka + bias

With g = C loss'(z) and W = C loss''(z) the optimum is a = -g, sum a = bias_sum, and a Newton step to a + d, bias + t
solves

    d + W (K d + t) = r,    sum d = bias_sum - sum a,    r = -(a + g)

by d = p - t s with p and s from `newton_system` (the solutions for t = 0, and for r = 0 per unit of -t). The unknown is
the change d, so that rounding is relative to what is still to be done.

Given     K, the loss with two derivatives, and any starting point
Stop      primal - dual <= tol * |primal|, both at the one dual-feasible a that is returned
Output    a, the best bias, K a, and the two bounds
Systems   Cholesky, or preconditioned conjugate gradients where that is too large (`newton_system`)

References: O. Chapelle, "Training a support vector machine in the primal", Neural Computation 19, 2007 (the active
set); C. E. Rasmussen, C. K. I. Williams, "Gaussian Processes for Machine Learning", 2006, section 3.4 (the system).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern.machines.base import Machine, MachineSolution, certify, check_sizes, feasible_start, out_of_time
from polykern.machines.matrix import CombinedMatrix
from polykern.machines.newton_system import NewtonSystem
from polykern.problems.machine import MachineProblem

Array = NDArray[np.float64]

_MOST_STEPS = 500
_SHORT = 1e-2  # length of a step that got nowhere
_PATIENCE = 3  # steps that lower neither the primal nor the gap after which floating point has given all it can


@dataclass(frozen=True)
class Newton(Machine):
    """Newton's method with exact systems where they are small and conjugate gradients where they are not.

    Parameters
    ----------
    most_direct : int
        Samples with curvature up to which the system is solved by Cholesky, where the matrix is in memory.
    """

    most_direct: int = 4096

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

        The best bias for the starting coefficients is found at once: `intercept` is not needed.
        """
        check_sizes(matrix, problem, tol)
        path = _Path(matrix, problem, feasible_start(problem, coef), NewtonSystem(matrix, self.most_direct))
        while not (path.best.gap <= tol or path.idle_steps >= _PATIENCE or path.n_iter >= _MOST_STEPS):
            if out_of_time(deadline):
                break
            path.step(tol)
        return path.best


class _Path:
    """The Newton iterates, and the best dual-feasible solution met on the way."""

    def __init__(self, matrix: CombinedMatrix, problem: MachineProblem, coef: Array, system: NewtonSystem) -> None:
        self.matrix, self.problem, self.system = matrix, problem, system
        self.coef, self.outputs = coef, matrix.matvec(coef)
        self.intercept = problem.best_intercept(self.outputs)
        self.primal = problem.primal(self.coef, self.outputs, self.intercept)
        self.n_iter = self.idle_steps = 0
        self.best = certify(problem, coef, self.outputs, 0)

    def step(self, tol: float) -> None:
        """One Newton step with its line search; then the bounds at the new point."""
        primal, gap = self.primal, self.best.gap
        self.coef = self.coef + self._change()
        self.outputs = self.matrix.matvec(self.coef)
        self.intercept = self.problem.best_intercept(self.outputs)
        self.primal = self.problem.primal(self.coef, self.outputs, self.intercept)
        self.n_iter += 1
        self._update_best(tol)
        progress = primal - self.primal > 1e-15 * abs(primal) or self.best.gap < 0.9 * gap
        self.idle_steps = 0 if progress else self.idle_steps + 1

    def _change(self) -> Array:
        """The Newton step for a, as far as the primal objective falls along it.

        Where the loss is almost flat at every sample the step in the bias is as good as infinite and leaves none for
        a. Then a moves alone, and the bias follows by itself.
        """
        free, per_shift, shift = self._direction()
        length, change = 0.0, free
        for bias_step in (shift, 0.0):
            change = free - bias_step * per_shift
            length = _line_search(self._slope_along(change, bias_step, self.matrix.matvec(change)))
            if length >= _SHORT or shift == 0.0:
                break
        return length * change

    def _direction(self) -> tuple[Array, Array, float]:
        """(p, s, t) of the Newton step: a changes by p - t s, the bias by t."""
        problem = self.problem
        z = self.outputs + self.intercept
        slope = problem.costs * problem.loss.derivative(z, problem.y)
        curvature = problem.costs * problem.loss.second_derivative(z, problem.y)
        free, per_shift = self.system.solve(curvature, -(self.coef + slope), problem.fit_intercept)
        total = float(per_shift.sum())
        excess = float(free.sum() + self.coef.sum() - problem.loss.bias_sum)
        return free, per_shift, excess / total if total > 0 else 0.0

    def _slope_along(self, change: Array, shift: float, outputs: Array) -> Callable[[float], float]:
        """Derivative of the primal objective at a + t d, bias + t shift, as a function of t."""
        problem = self.problem
        linear = float(change @ self.outputs) + problem.loss.bias_sum * shift
        quadratic = float(change @ outputs)
        z, along = self.outputs + self.intercept, outputs + shift

        def slope(length: float) -> float:
            losses = problem.costs * problem.loss.derivative(z + length * along, problem.y)
            return linear + length * quadratic + float(losses @ along)

        return slope

    def _update_best(self, tol: float) -> None:
        """Bounds from the iterate where it is dual-feasible, and from its dual partner -C loss'(z)."""
        lower, upper = self.problem.bounds()
        if np.all(self.coef >= lower) and np.all(self.coef <= upper):
            coef = feasible_start(self.problem, self.coef)
            outputs = self.outputs if np.array_equal(coef, self.coef) else self.matrix.matvec(coef)
            self._keep(certify(self.problem, coef, outputs, self.n_iter))
        if self.best.gap > tol:
            partner = self.problem.dual_point(self.outputs, self.intercept)
            self._keep(certify(self.problem, partner, self.matrix.matvec(partner), self.n_iter))

    def _keep(self, solution: MachineSolution) -> None:
        if not self.best.gap <= solution.gap:
            self.best = solution


def _line_search(slope: Callable[[float], float]) -> float:
    """The full step where the slope there is not steeply upward, otherwise a point where the slope is nearly 0."""
    start, end = slope(0.0), slope(1.0)
    if start >= 0.0 or end <= -0.5 * start:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        here = slope(middle)
        if abs(here) <= -0.1 * start:
            return middle
        low, high = (middle, high) if here < 0.0 else (low, middle)
    return low
