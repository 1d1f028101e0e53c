"""The hinge of the support vector machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polykern.losses.base import Array, Loss, as_arrays, infinite_where_nan, margin_share, signed_bounds


class Hinge(Loss):
    """Loss of a margin below one, linearly.

    loss(f, y) = max(0, 1 - y f),   conjugate(u, y) = u y  for  -1 <= u y <= 0.

    Examples
    --------
    >>> from polykern.losses import Hinge
    >>> float(Hinge().value(0.25, 1.0))
    0.75
    """

    def value(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return np.maximum(0.0, 1.0 - y * f)

    def derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return np.where(y * f < 1.0, -y, 0.0)

    def conjugate(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        return infinite_where_nan(-margin_share(slopes, targets))

    def conjugate_slope(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        _, y = as_arrays(slopes, targets)
        return y

    def dual_bounds(self, targets: ArrayLike, costs: ArrayLike) -> tuple[Array, Array]:
        return signed_bounds(targets, costs)

    def linear_form(self, targets: ArrayLike) -> tuple[Array, float]:
        return np.asarray(targets, dtype=np.float64), 0.0

    def kinks(self, targets: ArrayLike) -> Array:
        return np.asarray(targets, dtype=np.float64)[np.newaxis]
