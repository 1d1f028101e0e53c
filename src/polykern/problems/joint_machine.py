"""The problem with the kernel weights fixed, for losses that look at all outputs of a sample together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polykern.losses import Loss
from polykern.problems.machine import relative_gap

Array = NDArray[np.float64]


@dataclass(frozen=True)
class JointMachineProblem:
    """Primal and dual of a kernel machine with one output per class.

    min_A  1/2 tr(A' K A) + sum_i C_i loss((K A)_i, y_i)
    max_A  -sum_i (C_i loss)^*(-a_i) - 1/2 tr(A' K A)

    Rows a_i of A and y_i of `y` belong to samples, columns to classes; there is no bias. For the multiclass hinge a_i
    is feasible where  y_i - a_i / C_i  lies in the simplex. `outputs` is always K @ coef.
    """

    loss: Loss
    y: Array
    costs: Array
    fit_intercept: bool = False

    def primal(self, coef: Array, outputs: Array, intercept: Array) -> float:
        """Value of the primal objective: an upper bound of the optimum."""
        return 0.5 * float(np.vdot(coef, outputs)) + self.loss_sum(outputs, intercept)

    def dual(self, coef: Array, outputs: Array) -> float:
        """Value of the dual objective at a feasible `coef`: a lower bound of the optimum."""
        return -self.conjugate_sum(coef) - 0.5 * float(np.vdot(coef, outputs))

    def gap(self, coef: Array, outputs: Array, intercept: Array) -> float:
        """Relative duality gap of this machine, the weights held fixed."""
        return relative_gap(self.primal(coef, outputs, intercept), self.dual(coef, outputs))

    def losses(self, outputs: Array, intercept: Array) -> Array:
        """(n,) C_i loss(outputs_i + intercept, y_i)."""
        return self.costs * self.loss.value(outputs + intercept, self.y)

    def loss_sum(self, outputs: Array, intercept: Array) -> float:
        """Sum of the losses."""
        return float(self.losses(outputs, intercept).sum())

    def conjugate_sum(self, coef: Array) -> float:
        """sum_i (C_i loss)^*(-a_i)."""
        return float(self.conjugates(coef).sum())

    def conjugates(self, coef: Array) -> Array:
        """(n,) terms of `conjugate_sum`; a sample of cost 0 allows a_i = 0 only."""
        paid = self.costs > 0
        slopes = np.divide(-coef, self.costs[:, None], out=np.zeros_like(coef), where=paid[:, None])
        values = self.costs * self.loss.conjugate(slopes, self.y)
        return np.where(paid, values, np.where(np.any(coef != 0, axis=1), np.inf, 0.0))

    def best_intercept(self, outputs: Array) -> Array:
        """No bias: (c,) zeros."""
        return np.zeros(outputs.shape[1])

    def dual_point(self, outputs: Array, intercept: Array) -> Array:
        """-C loss'(outputs): the dual partner of a primal point."""
        return -self.costs[:, None] * self.loss.derivative(outputs + intercept, self.y)

    def feasible(self, coef: Array) -> Array:
        """The dual-feasible point nearest to `coef`, row by row."""
        paid = self.costs > 0
        shares = self.y - np.divide(coef, self.costs[:, None], out=np.zeros_like(coef), where=paid[:, None])
        return self.costs[:, None] * (self.y - rows_on_simplex(shares))


def rows_on_simplex(points: Array) -> Array:
    """The nearest point of the simplex for every row, by sorting; rows that lie in it stay as they are."""
    inside = np.all(points >= 0, axis=1) & (np.abs(points.sum(axis=1) - 1.0) <= 1e-14)
    descending = -np.sort(-points, axis=1)
    shifts = (np.cumsum(descending, axis=1) - 1.0) / np.arange(1, points.shape[1] + 1)
    kept = np.sum(descending > shifts, axis=1) - 1
    projected = np.maximum(points - shifts[np.arange(len(points)), kept, None], 0.0)
    return np.where(inside[:, None], points, projected)


__all__ = ["JointMachineProblem", "rows_on_simplex"]
