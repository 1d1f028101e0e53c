"""AlignF: the sum of kernels that is best aligned with the target.

Problem   max_{b >= 0} <sum_k b_k Kc_k, T> / |sum_k b_k Kc_k|
Symbols   Kc_k centred kernel, T target kernel (`target`), M_kl = <Kc_k, Kc_l>, a_k = <Kc_k, T>.
Given     M and a, three passes over the kernels (`frobenius`, `target`).
Step      none of its own: min_{v >= 0} v' M v - 2 v . a is a problem of nonnegative least squares, solved exactly by
          an active set method.
Output    b = v / sum v (the paper divides by the Euclidean norm: the same direction).

Cortes, Mohri, Rostamizadeh: Algorithms for Learning Kernels Based on Centered Alignment, JMLR 13, 2012, section 4.2;
Lawson, Hanson: Solving Least Squares Problems, 1974, chapter 23.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.weighting.alignment import least_squares
from polykern.weighting.base import Array, Weighting
from polykern.weighting.scale import to_weights


class AlignF(Weighting):
    """Weights b >= 0 for which the sum of the kernels is best aligned with the target.

    Kernels that say the same share their weight or leave it to one of them, unlike with `Align`. The sum itself does
    not depend on the scales of the kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import bank, kernels, weighting
    >>> X, y = np.array([[0.0, 3.0], [1.0, -3.0], [8.0, -3.0], [9.0, 3.0]]), np.array([0, 0, 1, 1])
    >>> columns = [kernels.OnColumns(kernels.Linear(), [k]) for k in range(2)]
    >>> weighting.AlignF().weights(bank.build_bank(columns, X), y, np.random.RandomState(0)).round(3).tolist()
    [1.0, 0.0]
    """

    for_regression = True

    def weights(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        from scipy.optimize import nnls

        problem = least_squares(bank, y)
        v = nnls(problem.root, problem.target)[0] if len(problem.root) else np.zeros(bank.n_kernels)
        return to_weights(problem.per_kernel(v), bank.null)
