"""The smooth hinge of the large-scale MKL paper (section 2.2 and appendix B.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, xlog1py, xlogy

from polykern.losses.base import Array, Loss, as_arrays, infinite_where_nan, margin_share, signed_bounds


class SmoothHinge(Loss):
    """The hinge with its corner rounded; sigma -> infinity gives the hinge.

    loss(f, y) = log(1 + exp(sigma (1 - y f))) / sigma,
    conjugate(u, y) = -s + (s log s + (1 - s) log(1 - s)) / sigma  with  s = -u y in [0, 1].

    The formula printed in the paper is mistaken in its text and in its appendix; this one is derived and tested.

    Parameters
    ----------
    sigma : float, default=10.0
        Sharpness of the corner, positive.

    Examples
    --------
    >>> from polykern.losses import SmoothHinge
    >>> float(SmoothHinge(sigma=100.0).value(0.5, 1.0).round(3))
    0.5
    """

    smooth = True

    def __init__(self, sigma: float = 10.0) -> None:
        self.sigma = sigma

    def value(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return np.logaddexp(0.0, self.sigma * (1.0 - y * f)) / self.sigma

    def derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return -y * expit(self.sigma * (1.0 - y * f))

    def second_derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        inside = self.sigma * (1.0 - y * f)
        return self.sigma * expit(inside) * expit(-inside)

    def conjugate(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        share = margin_share(slopes, targets)
        return infinite_where_nan(-share + (xlogy(share, share) + xlog1py(1.0 - share, -share)) / self.sigma)

    def conjugate_slope(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        _, y = as_arrays(slopes, targets)
        return y - y * logit(margin_share(slopes, targets)) / self.sigma

    def conjugate_curvature(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        share = margin_share(slopes, targets)
        return 1.0 / (self.sigma * share * (1.0 - share))

    def dual_bounds(self, targets: ArrayLike, costs: ArrayLike) -> tuple[Array, Array]:
        return signed_bounds(targets, costs)
