"""The epsilon-insensitive loss of support vector regression."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polykern.losses.base import DOMAIN_SLACK, Array, Loss, as_arrays


class EpsilonInsensitive(Loss):
    """Absolute error beyond a tube of half-width epsilon; epsilon = 0 is the absolute loss.

    loss(f, y) = max(0, |f - y| - epsilon),   conjugate(u, y) = u y + epsilon |u|  for  |u| <= 1.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half-width of the tube, in the units of y; not negative.

    Examples
    --------
    >>> from polykern.losses import EpsilonInsensitive
    >>> float(EpsilonInsensitive(epsilon=0.5).value(1.0, 3.0))
    1.5
    """

    targets = "real"

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = epsilon

    def value(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return np.maximum(0.0, np.abs(f - y) - self.epsilon)

    def derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return np.where(np.abs(f - y) > self.epsilon, np.sign(f - y), 0.0)

    def conjugate(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        u, y = as_arrays(slopes, targets)
        inside = np.clip(u, -1.0, 1.0)
        return np.where(np.abs(u) > 1 + DOMAIN_SLACK, np.inf, inside * y + self.epsilon * np.abs(inside))

    def conjugate_slope(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        _, y = as_arrays(slopes, targets)
        return y

    def dual_bounds(self, targets: ArrayLike, costs: ArrayLike) -> tuple[Array, Array]:
        _, cost = np.broadcast_arrays(*as_arrays(targets, costs))
        return -cost, cost.copy()

    def linear_form(self, targets: ArrayLike) -> tuple[Array, float]:
        return np.asarray(targets, dtype=np.float64), float(self.epsilon)

    def kinks(self, targets: ArrayLike) -> Array:
        y = np.asarray(targets, dtype=np.float64)
        return np.stack([y - self.epsilon, y + self.epsilon])
