"""The one-class loss: find the region where the data lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polykern.losses.base import DOMAIN_SLACK, Array, Loss, as_arrays


class OneClass(Loss):
    """Loss of an output below the threshold rho = -bias; about a share nu of the samples ends up below it.

    loss(f + bias) = max(0, -(f + bias)), and the problem adds the bias itself to the objective, so that
    Omega - rho + 1/(nu n) sum max(0, rho - f) is minimised;
    conjugate(u) = 0 for -1 <= u <= 0, and the dual variables sum to 1.
    The costs are 1/(nu n); there is no C.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of outliers and lower bound on the share of support vectors, in (0, 1].

    Examples
    --------
    >>> from polykern.losses import OneClass
    >>> float(OneClass(nu=0.1).value(-2.0, 0.0))
    2.0
    """

    targets = "none"
    bias_sum = 1.0
    needs_intercept = True

    def __init__(self, nu: float = 0.5) -> None:
        self.nu = nu

    def value(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, _ = as_arrays(outputs, targets)
        return np.maximum(0.0, -f)

    def derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, _ = as_arrays(outputs, targets)
        return np.where(f < 0.0, -1.0, 0.0)

    def conjugate(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        u, _ = as_arrays(slopes, targets)
        return np.where((u > DOMAIN_SLACK) | (u < -1 - DOMAIN_SLACK), np.inf, 0.0)

    def conjugate_slope(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        return np.zeros_like(np.asarray(slopes, dtype=np.float64))

    def dual_bounds(self, targets: ArrayLike, costs: ArrayLike) -> tuple[Array, Array]:
        cost = np.asarray(costs, dtype=np.float64)
        return np.zeros_like(cost), cost.copy()

    def linear_form(self, targets: ArrayLike) -> tuple[Array, float]:
        return np.zeros_like(np.asarray(targets, dtype=np.float64)), 0.0

    def kinks(self, targets: ArrayLike) -> Array:
        return np.zeros_like(np.asarray(targets, dtype=np.float64))[np.newaxis]
