"""Best: the one kernel whose machine predicts best, by cross-validation.

Problem   max_k score of a machine on K_k alone, on samples that it has not seen.
Given     a learner for kernel matrices; folds, the same for all kernels (stratified for classes).
Step      train and predict fold by fold; the score is the accuracy, or the mean squared error for real targets.
Output    b_k = 1 for the best kernel (of equal ones the first), 0 for the others.

The baseline that sums of kernels are held against: "SVM (best)" in Goenen, Alpaydin: Multiple Kernel Learning
Algorithms, JMLR 12, 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.weighting.base import Array, Weighting
from polykern.weighting.scale import to_weights
from polykern.weighting.single_kernels import accuracies, held_out_predictions, mean_squared_errors
from polykern.weighting.target import is_regression


class Best(Weighting):
    """The single kernel with the best cross-validated predictions.

    Parameters
    ----------
    cv : int, default=5
        Folds, shuffled by the random state; fewer where a class has fewer samples.
    learner : estimator or None, default=None
        The machine that is tried on each kernel: SVC() for classes and SVR() for real targets, or one with a
        parameter `kernel` that takes "precomputed".

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import bank, kernels, weighting
    >>> X, y = np.random.RandomState(0).normal(size=(40, 2)), np.arange(40) % 2
    >>> X[:, 1] += 3 * y
    >>> columns = [kernels.OnColumns(kernels.Linear(), [k]) for k in range(2)]
    >>> weighting.Best().weights(bank.build_bank(columns, X), y, np.random.RandomState(0)).tolist()
    [0.0, 1.0]
    """

    for_regression = True

    def __init__(self, cv: int = 5, learner: Any = None) -> None:
        self.cv = cv
        self.learner = learner

    def weights(self, bank: KernelBank, y: NDArray[np.generic], random_state: np.random.RandomState) -> Array:
        predictions = held_out_predictions(bank, y, self.learner, self.cv, random_state)
        if bank.null.all():
            return to_weights(np.ones(bank.n_kernels), bank.null)
        scores = -mean_squared_errors(y, predictions) if is_regression(y) else accuracies(bank, y, predictions)
        best = int(np.argmax(np.where(bank.null, -np.inf, scores)))
        return to_weights(np.arange(bank.n_kernels) == best, bank.null)
