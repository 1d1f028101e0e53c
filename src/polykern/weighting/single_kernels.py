"""What each kernel is worth alone: cross-validated predictions of one machine per kernel."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from polykern.bank import KernelBank
from polykern.parallel import n_threads, run_blocks
from polykern.weighting.learner import on_matrices
from polykern.weighting.target import is_regression

Array = NDArray[np.float64]

# Matrices of float64 that a machine needs beside its kernel: those of the fold, and the copy that the learner makes.
_MATRICES = 3


def held_out_predictions(
    bank: KernelBank, y: NDArray[np.generic], learner: Any, cv: int, random_state: np.random.RandomState
) -> Array:
    """(F, n) predictions for every sample from machines on one kernel that were trained without its fold.

    The folds, stratified where y are classes, are the same for all kernels. Null kernels have NaN.
    """
    machine = on_matrices(_default_learner(y) if learner is None else learner)
    _check_kind(machine, y)
    folds = _folds(y, cv, random_state)
    predictions = np.full((bank.n_kernels, bank.n_samples), np.nan)

    def predict(k: int) -> None:
        K = bank.combine(np.arange(bank.n_kernels) == k)
        for train, test in folds:
            fitted = clone(machine).fit(K[np.ix_(train, train)], y[train])
            predictions[k, test] = fitted.predict(K[np.ix_(test, train)])

    run_blocks(predict, np.flatnonzero(~bank.null).tolist(), _threads(bank))
    return predictions


def accuracies(bank: KernelBank, y: NDArray[np.generic], predictions: Array) -> Array:
    """(F,) share of samples whose class is predicted; 0 for null kernels."""
    return np.where(bank.null, 0.0, (predictions == y).mean(axis=1))


def mean_squared_errors(y: NDArray[np.generic], predictions: Array) -> Array:
    """(F,) mean squared error of the predictions; NaN for null kernels."""
    return np.asarray(np.square(predictions - y.astype(np.float64)).mean(axis=1))


def _default_learner(y: NDArray[np.generic]) -> Any:
    from sklearn.svm import SVC, SVR

    return SVR() if is_regression(y) else SVC()


def _check_kind(learner: Any, y: NDArray[np.generic]) -> None:
    if is_regression(y) and not is_regressor(learner):
        raise ValueError(f"learner is {learner!r}, expected a regressor such as SVR(): the targets are real numbers.")
    if not is_regression(y) and not is_classifier(learner):
        raise ValueError(f"learner is {learner!r}, expected a classifier such as SVC(): the targets are classes.")


def _folds(y: NDArray[np.generic], cv: Any, random_state: np.random.RandomState) -> list[tuple[Any, Any]]:
    from sklearn.model_selection import KFold, StratifiedKFold

    if not isinstance(cv, Integral) or isinstance(cv, bool) or cv < 2:
        raise ValueError(f"cv is {cv!r}, expected the number of folds, a whole number of at least 2.")
    if is_regression(y):
        splitter: Any = KFold(min(int(cv), len(y)), shuffle=True, random_state=random_state)
        return list(splitter.split(y))
    counts = np.bincount(y)
    if counts.min() < 2:
        raise ValueError(
            f"y has a single sample of class {int(np.argmin(counts))}, and kernels are compared by cross-validation: "
            "expected at least two samples of each class."
        )
    splitter = StratifiedKFold(min(int(cv), int(counts.min())), shuffle=True, random_state=random_state)
    return list(splitter.split(y, y))


def _threads(bank: KernelBank) -> int:
    """Kernels that are tried side by side: as many as threads, if their matrices fit."""
    room = bank.row_cache_bytes // (8 * _MATRICES * bank.n_samples**2)
    return max(1, min(n_threads(bank.n_jobs), int(room)))
