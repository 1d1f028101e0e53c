"""The quadratic program behind AlignF and CKA: how well a sum of kernels is aligned with the target.

    alignment(v) = v . a / (sqrt(v' M v) |T|),   M_kl = <Kc_k, Kc_l>,   a_k = <Kc_k, T>

It does not depend on the length of v; where v' M v is least for a given v . a, so is  v' M v - 2 v . a = |R v - t|^2 +
const, with any R, t such that R' R = M and R' t = a: the maximum is a problem of least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.weighting.frobenius import centred_products, row_means
from polykern.weighting.target import centred_target_products

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LeastSquares:
    """min_v |R v - t|^2, where v_k weighs Kc_k / |Kc_k|; kernels of which nothing is left have a column of zeros."""

    root: Array  # R, (rank of M, F)
    target: Array  # t, (rank of M,)
    sizes: Array  # (F,) |Kc_k|

    def per_kernel(self, v: Array) -> Array:
        """Weights of the kernels as they are, from weights of the kernels of size 1."""
        return np.divide(v, self.sizes, out=np.zeros_like(v), where=self.sizes > 0)


def least_squares(bank: KernelBank, y: NDArray[np.generic]) -> LeastSquares:
    """The problem for the kernels of `bank` and the targets y: two passes over the kernels and M."""
    means = row_means(bank)
    products = centred_products(bank, means)
    towards = centred_target_products(bank, y, means)
    sizes = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    inverse = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    values, vectors = np.linalg.eigh(inverse[:, None] * products * inverse)
    # What is smaller is rounding of the entries: kernels that are (nearly) sums of others, or there twice.
    there = values > len(values) * np.finfo(bank.dtype).eps * values[-1]
    lengths, directions = np.sqrt(values[there]), vectors[:, there]
    return LeastSquares(
        root=lengths[:, None] * directions.T, target=(inverse * towards) @ directions / lengths, sizes=sizes
    )
