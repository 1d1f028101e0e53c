"""CKA: alignment of the sum with the target, maximised in closed form; what is negative is set to zero.

Problem   max_b <sum_k b_k Kc_k, T> / |sum_k b_k Kc_k|, the signs of b free
Symbols   Kc_k centred kernel, T target kernel (`target`), M_kl = <Kc_k, Kc_l>, a_k = <Kc_k, T>.
Given     M and a, three passes over the kernels (`frobenius`, `target`).
Step      v = M^-1 a (of the shortest length, in kernels of size 1, where M is singular).
Output    b = max(v, 0) / sum of it.

A sum with negative weights need not be positive semidefinite, and no machine is then sure to have an optimum: negative
weights become zero here. Where there are none, b is the best b >= 0 too and equal to AlignF's; where there are some, it
is no longer the best of anything. AlignF costs the same passes.

Cortes, Mohri, Rostamizadeh: Algorithms for Learning Kernels Based on Centered Alignment, JMLR 13, 2012, section 4.2
(the linear combination, b = M^-1 a / |M^-1 a|).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.weighting.alignment import least_squares
from polykern.weighting.base import Array, Weighting
from polykern.weighting.scale import to_weights


class CKA(Weighting):
    """Centred kernel alignment in closed form: max(M^-1 a, 0), scaled to sum 1.

    The closed form has no sign constraint; weights below 0, which would make kernels that are none, are set to 0. For
    the best weights with that constraint take `AlignF`.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import bank, kernels, weighting
    >>> X, y = np.array([[0.0, 3.0], [1.0, -3.0], [8.0, -3.0], [9.0, 3.0]]), np.array([0, 0, 1, 1])
    >>> columns = [kernels.OnColumns(kernels.Linear(), [k]) for k in range(2)]
    >>> weighting.CKA().weights(bank.build_bank(columns, X), y, np.random.RandomState(0)).round(3).tolist()
    [1.0, 0.0]
    """

    for_regression = True

    def weights(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        problem = least_squares(bank, y)
        v = np.linalg.pinv(problem.root) @ problem.target
        return to_weights(problem.per_kernel(v), bank.null)
