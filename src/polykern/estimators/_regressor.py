"""MKLRegressor: real targets."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import assert_all_finite

from polykern.bank.callers import users_line
from polykern.estimators._inputs import one_column
from polykern.estimators._labels import Targets
from polykern.estimators._parameters import check_between
from polykern.estimators._supervised import SupervisedMKL
from polykern.estimators._transform import CombinedKernelMixin
from polykern.losses import EpsilonInsensitive, Loss, as_loss

_REGRESSION_LOSSES = "'epsilon_insensitive', 'squared'"


class MKLRegressor(CombinedKernelMixin, RegressorMixin, SupervisedMKL):
    """Regression that learns its kernel: weights of the given kernels, and the machine on their sum, in one problem.

        min_{f_1..f_F, bias}   Omega(|f_1|, .., |f_F|)  +  sum_i C_i loss(sum_k f_k(x_i) + bias, y_i)

    with C_i = C * sample_weight_i. It stops when the relative duality gap of this problem is below `tol`. The loss is
    in the units of y (squared: of y^2), so C and epsilon mean the most when y is standardised
    (sklearn.compose.TransformedTargetRegressor).

    Parameters
    ----------
    kernels : str, kernel or list, default="default"
        As in `MKLClassifier`.
    loss : str or Loss, default="epsilon_insensitive"
        "epsilon_insensitive", max(0, |f - y| - epsilon), or "squared", (f - y)^2; or an object of `polykern.losses`.
    epsilon : float, default=0.1
        Half-width of the tube inside which an error costs nothing; of no effect with other losses.
    regularizer, solver, C, tol, max_iter, time_limit, fit_intercept, normalize, memory, n_jobs, keep_training_data,
    random_state, verbose, callbacks
        As in `MKLClassifier`.

    Attributes
    ----------
    weights_, kernel_names_, kernel_weights_, result_, support_, fit_intercept_, n_iter_, n_features_in_,
    feature_names_in_
        As in `MKLClassifier`.
    dual_coef_ : ndarray of shape (n_support,)
    intercept_ : float

    Examples
    --------
    >>> from polykern import MKLRegressor, kernels
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = MKLRegressor([kernels.Linear(), kernels.RBF()], loss="squared").fit(X, y / y.std())
    >>> model.kernel_names_
    ('Linear', 'RBF')
    """

    def __init__(
        self,
        kernels: Any = "default",
        *,
        loss: Any = "epsilon_insensitive",
        epsilon: float = 0.1,
        regularizer: Any = "l1",
        solver: Any = "auto",
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        time_limit: float | None = None,
        fit_intercept: bool | str = "auto",
        normalize: str | None = "mean-diagonal",
        memory: str | int = "auto",
        n_jobs: int | None = None,
        keep_training_data: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
        callbacks: Any = None,
    ) -> None:
        self.kernels = kernels
        self.loss = loss
        self.epsilon = epsilon
        self.regularizer = regularizer
        self.solver = solver
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.fit_intercept = fit_intercept
        self.normalize = normalize
        self.memory = memory
        self.n_jobs = n_jobs
        self.keep_training_data = keep_training_data
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MKLRegressor:
        """Learn kernel weights and machine.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features), or sample indices (n,) for Precomputed kernels
        y : array-like of shape (n,)
            Real numbers.
        sample_weight : array-like of shape (n,), default=None
            Factor on the cost of each sample; 2 is the sample twice, 0 leaves it out.
        """
        self._fit(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """(m,) predicted values."""
        return self._outputs(X)[:, 0]

    def _checked_y(self, y: Any, n_samples: int) -> np.ndarray:
        return _checked_values(y, n_samples)

    def _unit_targets(self, y: np.ndarray, weights: np.ndarray) -> Targets:
        _warn_if_all_in_tube(self._resolve_loss(), y)
        return Targets(y[:, None], weights[:, None].copy())

    def _resolve_loss(self) -> Loss:
        epsilon = check_between("epsilon", self.epsilon, 0.0, np.inf, low_open=False)
        loss = as_loss(self.loss, epsilon=epsilon)
        if loss.targets != "real":
            raise ValueError(
                f"loss is {self.loss!r}, which is not a loss for real targets; MKLRegressor takes {_REGRESSION_LOSSES} "
                "(MKLClassifier takes the losses for labels)."
            )
        return loss


def _warn_if_all_in_tube(loss: Loss, values: np.ndarray) -> None:
    spread = float(np.ptp(values))
    if isinstance(loss, EpsilonInsensitive) and 0 < spread <= 2 * loss.epsilon:
        warnings.warn(
            f"epsilon is {loss.epsilon:g}, and y varies by {spread:.3g} only: a constant has no error, so nothing is "
            "learned; standardise y, or take a smaller epsilon.",
            UserWarning,
            stacklevel=users_line(),
        )


def _checked_values(
    y: Any, n_samples: int, owner: str = "MKLRegressor", otherwise: str = "MKLClassifier takes labels"
) -> np.ndarray:
    """(n,) finite real numbers, one per sample."""
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None: give one number per sample.")
    raw = one_column(y)
    if len(raw) != n_samples:
        raise ValueError(f"y has {len(raw)} values and X has {n_samples} samples, expected one value per sample.")
    if raw.dtype.kind == "c":
        raise ValueError("Complex data not supported: y is complex, expected real numbers.")
    try:
        values = raw.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y is of type {raw.dtype}, expected real numbers; {otherwise}.") from error
    assert_all_finite(values, input_name="y")
    return values
