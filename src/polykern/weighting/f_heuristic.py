"""FHeuristic: a kernel counts as much as it is aligned with the labels, or the less the more its machine errs.

Problem   none: independent scores.
Symbols   A(K, T) = <K, T> / (|K| |T|), the alignment of the kernel as it is (not centred) with the target (`target`);
          e_k mean squared error of a regression machine on K_k alone, on samples that it has not seen.
Given     classes: nothing more. Real targets: a learner for kernel matrices, and folds.
Output    classes        b_k = A(K_k, T) / sum_h A(K_h, T)
          real targets   b_k = (sum_h e_h - e_k) / ((F - 1) sum_h e_h)

Qiu, Lane: A framework for multiple kernel support vector regression and its applications to siRNA efficacy prediction,
IEEE/ACM Transactions on Computational Biology and Bioinformatics 6, 2009; as in Goenen, Alpaydin: Multiple
Kernel Learning Algorithms, JMLR 12, 2011, section 3.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.weighting.base import Array, Weighting
from polykern.weighting.frobenius import norms, row_means
from polykern.weighting.scale import to_weights
from polykern.weighting.single_kernels import held_out_predictions, mean_squared_errors
from polykern.weighting.target import is_regression, target_products


class FHeuristic(Weighting):
    """Weights in proportion to plain alignment (classes), or falling with the error of each kernel (real targets).

    Parameters
    ----------
    cv : int, default=5
        Folds for real targets, shuffled by the random state.
    learner : estimator or None, default=None
        The machine for real targets that is tried on each kernel: SVR(), or one with a parameter `kernel` that takes
        "precomputed".

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import bank, kernels, weighting
    >>> X, y = np.array([[0.0, 3.0], [1.0, -3.0], [8.0, -3.0], [9.0, 3.0]]), np.array([0, 0, 1, 1])
    >>> columns = [kernels.OnColumns(kernels.Linear(), [k]) for k in range(2)]
    >>> weighting.FHeuristic().weights(bank.build_bank(columns, X), y, np.random.RandomState(0)).round(3).tolist()
    [1.0, 0.0]
    """

    for_regression = True

    def __init__(self, cv: int = 5, learner: Any = None) -> None:
        self.cv = cv
        self.learner = learner

    def weights(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        if is_regression(y):
            return to_weights(self._by_error(bank, y, random_state), bank.null)
        towards, sizes = target_products(bank, y, row_means(bank)), norms(bank)
        return to_weights(np.divide(towards, sizes, out=np.zeros_like(towards), where=sizes > 0), bank.null)

    def _by_error(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        """sum_h e_h - e_k over the kernels that are not zero; a single one has no other to be compared with."""
        errors = mean_squared_errors(y, held_out_predictions(bank, y, self.learner, self.cv, random_state))
        if np.count_nonzero(~bank.null) <= 1:
            return np.ones(bank.n_kernels)
        return np.where(bank.null, 0.0, np.nansum(errors) - errors)
