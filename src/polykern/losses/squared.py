"""The squared loss (kernel ridge regression)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polykern.losses.base import Array, Loss, as_arrays


class Squared(Loss):
    """Squared error, without a factor 1/2.

    loss(f, y) = (f - y)^2,   conjugate(u, y) = u y + u^2 / 4.

    Examples
    --------
    >>> from polykern.losses import Squared
    >>> float(Squared().value(1.0, 3.0))
    4.0
    """

    targets = "real"
    smooth = True

    def value(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return (f - y) ** 2

    def derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return 2.0 * (f - y)

    def second_derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return np.full(np.broadcast(f, y).shape, 2.0)

    def conjugate(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        u, y = as_arrays(slopes, targets)
        return u * y + 0.25 * u**2

    def conjugate_slope(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        u, y = as_arrays(slopes, targets)
        return y + 0.5 * u

    def conjugate_curvature(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        return np.full_like(np.asarray(slopes, dtype=np.float64), 0.5)

    def dual_bounds(self, targets: ArrayLike, costs: ArrayLike) -> tuple[Array, Array]:
        _, cost = as_arrays(targets, costs)
        reach = np.where(cost > 0, np.inf, 0.0)
        return -reach, reach
