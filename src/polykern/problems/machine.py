"""The problem with the kernel weights fixed: one combined kernel K, one output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polykern.losses import Loss
from polykern.problems.intercept import best_intercept

Array = NDArray[np.float64]

# A primal value below this share of the total cost is no scale to measure a gap by (separable data, C -> infinity).
TINY = 1e-12
# Of the sum of sizes: as much as rounding changes a sum.
ROUNDING = 1e-14


def relative_gap(primal: float, dual: float) -> float:
    """(primal - dual) / max(|primal|, tiny)."""
    return (primal - dual) / max(abs(primal), TINY)


@dataclass(frozen=True)
class MachineProblem:
    """Primal, dual and bias of a single kernel machine.

    min_{a, bias}  1/2 a' K a + sum_i C_i loss((K a)_i + bias, y_i) + bias_sum * bias
    max_a          -sum_i (C_i loss)^*(-a_i) - 1/2 a' K a      with  sum a = bias_sum  if there is a bias

    `outputs` is always K @ coef.
    """

    loss: Loss
    y: Array
    costs: Array
    fit_intercept: bool

    def primal(self, coef: Array, outputs: Array, intercept: float) -> float:
        """Value of the primal objective: an upper bound of the optimum."""
        return 0.5 * float(coef @ outputs) + self.loss_sum(outputs, intercept)

    def dual(self, coef: Array, outputs: Array) -> float:
        """Value of the dual objective at a feasible `coef`: a lower bound of the optimum."""
        return -self.conjugate_sum(coef) - 0.5 * float(coef @ outputs)

    def gap(self, coef: Array, outputs: Array, intercept: float) -> float:
        """Relative duality gap of this machine, the weights held fixed."""
        return relative_gap(self.primal(coef, outputs, intercept), self.dual(coef, outputs))

    def loss_sum(self, outputs: Array, intercept: float) -> float:
        """sum_i C_i loss(outputs_i + intercept, y_i) + bias_sum * intercept."""
        return float(self.losses(outputs, intercept).sum()) + self.loss.bias_sum * float(intercept)

    def losses(self, outputs: Array, intercept: float) -> Array:
        """(n,) C_i loss(outputs_i + intercept, y_i)."""
        return self.costs * self.loss.value(outputs + intercept, self.y)

    def conjugate_sum(self, coef: Array) -> float:
        """sum_i (C_i loss)^*(-a_i); a sample of cost 0 allows a_i = 0 only."""
        return float(self.conjugates(coef).sum())

    def conjugates(self, coef: Array) -> Array:
        """(n,) terms of `conjugate_sum`."""
        paid = self.costs > 0
        slopes = np.divide(-coef, self.costs, out=np.zeros_like(coef), where=paid)
        values = self.costs * self.loss.conjugate(slopes, self.y)
        return np.where(paid, values, np.where(coef == 0, 0.0, np.inf))

    def best_intercept(self, outputs: Array) -> float:
        """The bias that minimises the loss for these outputs; 0 where the problem has none."""
        if not self.fit_intercept:
            return 0.0
        paid = self.costs > 0
        return best_intercept(self.loss, outputs[paid], self.y[paid], self.costs[paid])

    def dual_point(self, outputs: Array, intercept: float) -> Array:
        """-C loss'(outputs + intercept), made exactly feasible: the dual partner of a primal point."""
        return self.feasible(-self.costs * self.loss.derivative(outputs + intercept, self.y))

    def feasible(self, coef: Array) -> Array:
        """The dual-feasible point nearest to `coef`: inside the bounds, summing to `bias_sum` where there is a bias."""
        lower, upper = self.bounds()
        if not self.fit_intercept:
            return np.clip(coef, lower, upper)
        return project_on_sum(np.asarray(coef, dtype=np.float64), lower, upper, self.loss.bias_sum)

    def bounds(self) -> tuple[Array, Array]:
        """Bounds of the dual variables."""
        return self.loss.dual_bounds(self.y, self.costs)


def project_on_sum(point: Array, lower: Array, upper: Array, total: float) -> Array:
    """Euclidean projection on {a : lower <= a <= upper, sum a = total}.

    a_i = clip(point_i - shift) for the one shift whose sum is right. The sum is piecewise linear in the shift:
    bisection finds the piece, the free coordinates of that piece give the shift in closed form.
    """
    least, most = float(lower.sum()), float(upper.sum())
    slack = 1e-9 * max(abs(total), 1.0)  # one-class with nu = 1: the bounds sum to 1 but for rounding
    if not least - slack <= total <= most + slack:
        raise ValueError(
            f"No dual variables within their bounds sum to {total:g} (they reach {least:g} to {most:g}): with a bias "
            "there must be samples of positive weight on both sides (two classes)."
        )
    inside = np.clip(point, lower, upper)
    if abs(float(inside.sum()) - total) <= ROUNDING * float(np.abs(inside).sum()):
        return spread_residue(inside, lower, upper, total)  # no more than rounding is missing
    low, high = _shift_bracket(point, lower, upper, total)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if np.clip(point - middle, lower, upper).sum() > total:
            low = middle
        else:
            high = middle
    return spread_residue(np.clip(point - high, lower, upper), lower, upper, total)


def _shift_bracket(point: Array, lower: Array, upper: Array, total: float) -> tuple[float, float]:
    """Shifts (low, high) at which the clipped sum is above and not above `total`."""
    step = 1.0 + float(np.abs(point).max(initial=0.0)) + abs(total)
    low, high = -step, step
    while np.clip(point - low, lower, upper).sum() < total and low > -1e300:
        low *= 2.0
    while np.clip(point - high, lower, upper).sum() > total and high < 1e300:
        high *= 2.0
    return low, high


def spread_residue(point: Array, lower: Array, upper: Array, total: float) -> Array:
    """Put what rounding left of the sum on the coordinates with the most room, until that makes it no smaller."""
    least = np.inf
    for _ in range(len(point)):
        residue = total - float(point.sum())
        if not 0.0 < abs(residue) < least:
            break
        least = abs(residue)
        room = (upper - point) if residue > 0 else (point - lower)
        widest = int(np.argmax(room))
        moved = min(max(point[widest] + residue, lower[widest]), upper[widest])
        if moved == point[widest]:
            break
        point[widest] = moved
    return point


__all__ = ["MachineProblem", "project_on_sum", "relative_gap"]
