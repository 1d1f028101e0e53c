"""PWMK, proportionally weighted multiple kernels: a kernel counts as much as its own machine is right.

Problem   none: independent scores pi_k, the cross-validated accuracy of a machine on K_k alone.
Symbols   delta threshold, at most the least of the accuracies.
Given     a learner for kernel matrices; folds, the same for all kernels.
Output    b_k = (pi_k - delta) / sum_h (pi_h - delta).

Tanabe, Ho, Nguyen, Kawasaki: Simple but effective methods for combining kernels in computational biology, IEEE RIVF
2008; as in Goenen, Alpaydin: Multiple Kernel Learning Algorithms, JMLR 12, 2011, section 3.2.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.weighting.base import Array, Weighting
from polykern.weighting.scale import to_weights
from polykern.weighting.single_kernels import accuracies, held_out_predictions


class PWMK(Weighting):
    """Weights in proportion to the cross-validated accuracy of each kernel alone, above a threshold.

    Parameters
    ----------
    delta : float, default=0.0
        Accuracy that counts for nothing, at most that of the worst kernel. At 0 the weights are nearly equal.
    cv : int, default=5
        Folds, shuffled by the random state; fewer where a class has fewer samples.
    learner : estimator or None, default=None
        The machine that is tried on each kernel: SVC(), or one with a parameter `kernel` that takes "precomputed".

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import bank, kernels, weighting
    >>> X, y = np.random.RandomState(0).normal(size=(40, 2)), np.arange(40) % 2
    >>> X[:, 1] += 9 * y
    >>> columns = [kernels.OnColumns(kernels.Linear(), [k]) for k in range(2)]
    >>> b = weighting.PWMK().weights(bank.build_bank(columns, X), y, np.random.RandomState(0))
    >>> bool(b[0] < b[1])
    True
    """

    def __init__(self, delta: float = 0.0, cv: int = 5, learner: Any = None) -> None:
        self.delta = delta
        self.cv = cv
        self.learner = learner

    def weights(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        if not isinstance(self.delta, Real) or isinstance(self.delta, bool) or not 0 <= self.delta <= 1:
            raise ValueError(f"delta of PWMK is {self.delta!r}, expected an accuracy, a number from 0 to 1.")
        scores = accuracies(bank, y, held_out_predictions(bank, y, self.learner, self.cv, random_state))
        worst = int(np.argmin(np.where(bank.null, np.inf, scores)))
        if not bank.null.all() and scores[worst] < self.delta:
            raise ValueError(
                f"delta of PWMK is {self.delta:g}, expected at most the accuracy of the worst kernel, here "
                f"{scores[worst]:.4g} of {bank.names[worst]!r}: take a smaller delta, or leave that kernel out."
            )
        return to_weights(scores - self.delta, bank.null)
