"""The squared hinge (L2-loss support vector machine)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polykern.losses.base import DOMAIN_SLACK, Array, Loss, as_arrays


class SquaredHinge(Loss):
    """Loss of a margin below one, quadratically.

    loss(f, y) = max(0, 1 - y f)^2,   conjugate(u, y) = u y + u^2 / 4  for  u y <= 0.

    Examples
    --------
    >>> from polykern.losses import SquaredHinge
    >>> float(SquaredHinge().value(0.5, 1.0))
    0.25
    """

    smooth = True

    def value(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return np.maximum(0.0, 1.0 - y * f) ** 2

    def derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return -2.0 * y * np.maximum(0.0, 1.0 - y * f)

    def second_derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return np.where(y * f < 1.0, 2.0, 0.0)

    def conjugate(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        u, y = as_arrays(slopes, targets)
        share = -u * y
        inside = np.maximum(share, 0.0)
        return np.where(share < -DOMAIN_SLACK, np.inf, 0.25 * inside**2 - inside)

    def conjugate_slope(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        u, y = as_arrays(slopes, targets)
        return y + 0.5 * u

    def conjugate_curvature(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        return np.full_like(np.asarray(slopes, dtype=np.float64), 0.5)

    def dual_bounds(self, targets: ArrayLike, costs: ArrayLike) -> tuple[Array, Array]:
        y, cost = as_arrays(targets, costs)
        reach = np.where(cost > 0, np.inf, 0.0)
        return np.where(y > 0, 0.0, -reach), np.where(y > 0, reach, 0.0)
