"""Uniform: every kernel counts the same.

Problem   none: the plain mean of the kernels.
Output    b_k = 1 / F; kernels that are zero get 0 and are not counted.

The baseline that learned weights are held against: see Cortes, Mohri, Rostamizadeh: Algorithms for Learning Kernels
Based on Centered Alignment, JMLR 13, 2012, section 6 ("unif").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.weighting.base import Array, Weighting
from polykern.weighting.scale import to_weights


class Uniform(Weighting):
    """The mean of the kernels, labels unseen; what it means depends on how they are normalized.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import bank, kernels, weighting
    >>> some = bank.build_bank([kernels.Linear(), kernels.RBF()], np.eye(4))
    >>> weighting.Uniform().weights(some, np.array([0, 0, 1, 1]), np.random.RandomState(0)).tolist()
    [0.5, 0.5]
    """

    for_regression = True

    def weights(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        return to_weights(np.ones(bank.n_kernels), bank.null)
