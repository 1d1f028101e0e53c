"""What a regularizer is: a convex function of the block norms, and the set of kernel weights behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from polykern.bank import KernelBank

Array = NDArray[np.float64]


class Regularizer(BaseEstimator):
    """Omega(t) of the block norms t_k = |f_k|, and the weight set B with Omega(t) = min_{b in B} 1/2 sum_k t_k^2 / b_k.

    A new one brings its certificate for free: problems are written in terms of these functions alone.
    """

    sparse: ClassVar[bool] = False
    """Some weights are exactly zero at the optimum."""

    grouped: ClassVar[bool] = False
    """Weights are shares of groups of kernels (`GroupedNorm`), not a point of a ball."""

    cut: ClassVar[bool] = False
    """Weights meet a condition beside those of a ball (`MarginSimplex`)."""

    mixed: ClassVar[bool] = False
    """Every block norm has a price of its own beside a common norm (`MixedNorm`): there is no set of weights."""

    def bind(self, bank: KernelBank, y: ArrayLike) -> Regularizer:
        """This regularizer for the kernels of `bank` and the targets `y`; itself where it needs neither."""
        return self

    def value(self, norms: ArrayLike) -> float:
        """Omega at the block norms."""
        raise NotImplementedError

    def value_at(self, norms: ArrayLike, weights: Array) -> float:
        """Omega, or what weights in B with  t_k = b_k sqrt(S_k)  say that it is at most."""
        return self.value(norms)

    def conjugate(self, duals: ArrayLike) -> float:
        """Omega^* at the dual norms sqrt(S_k): max_{b in B} 1/2 sum_k b_k S_k."""
        raise NotImplementedError

    def weights(self, norms: ArrayLike) -> Array:
        """argmin_{b in B} 1/2 sum_k t_k^2 / b_k, in closed form."""
        raise NotImplementedError

    def lmo(self, gains: ArrayLike) -> Array:
        """argmax_{b in B} b . gains: linear maximisation over the weight set."""
        raise NotImplementedError

    def project(self, point: ArrayLike) -> Array:
        """The point of B nearest to `point`."""
        raise NotImplementedError

    def details(self, weights: Array) -> dict[str, float]:
        """What a solution says of the weight set beyond its weights, for `MKLResult.details`."""
        return {}

    def start(self, n_kernels: int) -> Array:
        """The uniform point of B."""
        return self.weights(np.ones(n_kernels))
