"""What a weighting is: kernel weights from kernels and labels, before any machine sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from polykern.kernels import Kernel

if TYPE_CHECKING:
    from polykern.bank import KernelBank

Array = NDArray[np.float64]


class Weighting(BaseEstimator):
    """Chooses (F,) kernel weights b >= 0, scaled to sum 1; `TwoStageMKL` trains a machine on sum_k b_k K_k.

    Labels come as integers 0 .. c - 1 (classes) or as float64 numbers (regression): the type of `y` tells.
    """

    for_regression: ClassVar[bool] = False
    """Real targets have a meaning here."""

    def weights(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        """The weights for the kernels of `bank`; deterministic for a given state of `random_state`."""
        raise NotImplementedError

    def terms(self, names: Sequence[str], kernels: Sequence[Kernel]) -> tuple[Sequence[str], Sequence[Kernel]]:
        """The kernels that get weights, with their names: those that are given, or what the method makes of them."""
        return names, kernels
