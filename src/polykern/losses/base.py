"""What a loss is: five elementwise functions and a few declared facts."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

Array = NDArray[np.float64]

# How far outside its domain a dual variable may lie by rounding before the conjugate is infinite.
DOMAIN_SLACK = 1e-9


class Loss(BaseEstimator):
    """Convex loss of one output f for one target y, at cost 1; the problem multiplies by the cost of each sample.

    The dual variable of a sample with cost C is `a = -C * derivative`, so `u = -a / C` is where the conjugate is taken.
    """

    targets: ClassVar[str] = "signs"
    """What y holds: "signs" (-1, +1), "real" numbers, "classes" (a row of zeros and a one), or "none"."""
    joint: ClassVar[bool] = False
    """All outputs of a sample enter together: f, y and u are (n, c), and values are (n,)."""
    smooth: ClassVar[bool] = False
    """Differentiable everywhere with a second derivative (Newton); otherwise piecewise linear (SMO)."""
    bias_sum: ClassVar[float] = 0.0
    """What the dual variables sum to wherever there is a bias."""
    needs_intercept: ClassVar[bool] = False
    """The problem makes no sense without a bias (one-class)."""

    def value(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        """loss(f, y)."""
        raise NotImplementedError

    def derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        """A (sub)derivative of the loss in f."""
        raise NotImplementedError

    def second_derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        """Second derivative in f, for smooth losses; where it jumps, either side."""
        raise NotImplementedError(f"{type(self).__name__} is piecewise linear: it has no second derivative.")

    def conjugate(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        """sup_f u f - loss(f, y): infinite for slopes u that the loss never has."""
        raise NotImplementedError

    def conjugate_slope(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        """Derivative of the conjugate in u, inside its domain; kinks at 0 are left out (see `linear_form`)."""
        raise NotImplementedError

    def conjugate_curvature(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        """Second derivative of the conjugate in u, inside its domain; 0 where it is piecewise linear."""
        return np.zeros(np.broadcast(*as_arrays(slopes, targets)).shape)

    def dual_bounds(self, targets: ArrayLike, costs: ArrayLike) -> tuple[Array, Array]:
        """Smallest and largest value of the dual variable a = -C u of each sample."""
        raise NotImplementedError

    def linear_form(self, targets: ArrayLike) -> tuple[Array, float]:
        """(linear, kink) with (C loss)^*(-a) = -linear a + kink |a| inside the bounds; piecewise linear losses only."""
        raise NotImplementedError(f"{type(self).__name__} is not piecewise linear.")

    def kinks(self, targets: ArrayLike) -> Array:
        """(k, n) outputs where the slope of the loss rises by one; piecewise linear losses only."""
        raise NotImplementedError(f"{type(self).__name__} is not piecewise linear.")


def as_arrays(*values: ArrayLike) -> list[Array]:
    """The arguments as float64 arrays."""
    return [np.asarray(value, dtype=np.float64) for value in values]


def margin_share(slopes: ArrayLike, targets: ArrayLike) -> Array:
    """s = -u y, clipped to [0, 1] where it leaves that interval by rounding only, NaN where it leaves it really."""
    u, y = as_arrays(slopes, targets)
    share = -u * y
    outside = (share < -DOMAIN_SLACK) | (share > 1 + DOMAIN_SLACK)
    return np.where(outside, np.nan, np.clip(share, 0.0, 1.0))


def infinite_where_nan(values: Array) -> Array:
    """+inf in the place of NaN: the value of a conjugate outside its domain."""
    return np.where(np.isnan(values), np.inf, values)


def signed_bounds(targets: ArrayLike, costs: ArrayLike) -> tuple[Array, Array]:
    """0 <= a y <= cost as bounds on a, for losses on the margin y f."""
    y, cost = as_arrays(targets, costs)
    return np.where(y > 0, 0.0, -cost), np.where(y > 0, cost, 0.0)
