"""Product: all kernels multiplied, entry by entry; there is nothing to weigh.

Problem   one kernel that is large only where every kernel is: K(x, z) = prod_k K_k(x, z), positive semidefinite by
          Schur's product theorem.
Given     kernels as they are. The product is normalized, not its factors: for "mean-diagonal", "trace" and "diagonal"
          that is the product of the normalized kernels up to its scale. Factors that were centred first would make
          something else, large where two kernels are both negative.
Output    the product as the only kernel, of weight 1. (Roots of it, such as the geometric mean, are no kernels in
          general.)

Goenen, Alpaydin: Multiple Kernel Learning Algorithms, JMLR 12, 2011, section 3.1 (fixed rules); Schur 1911.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.kernels import Kernel, Precomputed
from polykern.kernels import Product as ProductKernel
from polykern.weighting.base import Array, Weighting
from polykern.weighting.scale import to_weights

# More factors than that are counted, not listed.
_NAMED = 4


class Product(Weighting):
    """The product of the kernels, entry by entry: RBF kernels on parts of the columns become one on all of them.

    `TwoStageMKL` then has a single kernel, the product, of weight 1. Of precomputed kernels one further matrix is made.

    Examples
    --------
    >>> from polykern import kernels, weighting
    >>> names, product = weighting.Product().terms(["size", "form"], [kernels.Linear(), kernels.RBF(gamma=1.0)])
    >>> names, product[0].gram([[1.0], [2.0]]).round(3).tolist()
    (['size * form'], [[1.0, 0.736], [0.736, 4.0]])
    """

    for_regression = True

    def terms(self, names: Sequence[str], kernels: Sequence[Kernel]) -> tuple[Sequence[str], Sequence[Kernel]]:
        """The product of all kernels, alone."""
        if len(kernels) == 1:
            return names, kernels
        name = " * ".join(names) if len(names) <= _NAMED else f"product of {len(names)} kernels"
        given = [kernel.K for kernel in kernels if isinstance(kernel, Precomputed)]
        if len(given) == len(kernels) and len({K.shape for K in given}) == 1:
            return [name], [Precomputed(_product_of(given))]
        return [name], [ProductKernel(list(kernels))]

    def weights(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        if bank.n_kernels > 1:
            raise ValueError(
                f"Product got a bank of {bank.n_kernels} kernels, expected one, their product: build the bank from "
                "what Product().terms(names, kernels) returns."
            )
        return to_weights(np.ones(1), bank.null)


def _product_of(matrices: Sequence[NDArray[np.floating]]) -> Array:
    product = np.array(matrices[0], dtype=np.float64)
    for K in matrices[1:]:
        product *= K
    return product
