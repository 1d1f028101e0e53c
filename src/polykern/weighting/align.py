"""Align: every kernel counts as much as it is aligned with the target, whatever the others do.

Problem   none: independent scores.  rho_k = <Kc_k, T> / (|Kc_k| |T|), the centred alignment of kernel k alone.
Symbols   Kc_k centred kernel, T target kernel (`target`), <A, B> = sum_ij A_ij B_ij, |A|^2 = <A, A>.
Given     the kernels on one scale: rho does not depend on it, the weighted sum does.
Output    b_k = rho_k / sum rho. (rho_k < 0, which no positive semidefinite kernel can have, counts as 0.)

Cortes, Mohri, Rostamizadeh: Algorithms for Learning Kernels Based on Centered Alignment, JMLR 13, 2012, section 4.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.weighting.base import Array, Weighting
from polykern.weighting.frobenius import centred_norms, row_means
from polykern.weighting.scale import to_weights
from polykern.weighting.target import centred_target_products


class Align(Weighting):
    """Weights in proportion to each kernel's centred alignment with the target.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import bank, kernels, weighting
    >>> X, y = np.array([[0.0, 3.0], [1.0, -3.0], [8.0, -3.0], [9.0, 3.0]]), np.array([0, 0, 1, 1])
    >>> columns = [kernels.OnColumns(kernels.Linear(), [k]) for k in range(2)]
    >>> weighting.Align().weights(bank.build_bank(columns, X), y, np.random.RandomState(0)).round(3).tolist()
    [1.0, 0.0]
    """

    for_regression = True

    def weights(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        means = row_means(bank)
        sizes = centred_norms(bank, means)
        towards = centred_target_products(bank, y, means)
        scores = np.divide(towards, sizes, out=np.zeros_like(towards), where=sizes > 0)
        return to_weights(scores, bank.null)
