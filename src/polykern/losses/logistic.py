"""The logistic loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, xlog1py, xlogy

from polykern.losses.base import Array, Loss, as_arrays, infinite_where_nan, margin_share, signed_bounds


class Logistic(Loss):
    """Negative log-likelihood of a label whose log-odds are f.

    loss(f, y) = log(1 + exp(-y f)),   conjugate(u, y) = s log s + (1 - s) log(1 - s)  with  s = -u y in [0, 1].

    Examples
    --------
    >>> from polykern.losses import Logistic
    >>> float(Logistic().value(0.0, 1.0).round(4))
    0.6931
    """

    smooth = True

    def value(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return np.logaddexp(0.0, -y * f)

    def derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return -y * expit(-y * f)

    def second_derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return expit(y * f) * expit(-y * f)

    def conjugate(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        share = margin_share(slopes, targets)
        return infinite_where_nan(xlogy(share, share) + xlog1py(1.0 - share, -share))

    def conjugate_slope(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        _, y = as_arrays(slopes, targets)
        return -y * logit(margin_share(slopes, targets))

    def conjugate_curvature(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        share = margin_share(slopes, targets)
        return 1.0 / (share * (1.0 - share))

    def dual_bounds(self, targets: ArrayLike, costs: ArrayLike) -> tuple[Array, Array]:
        return signed_bounds(targets, costs)
