"""MKLOneClass: the region where the data lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from polykern.estimators._base import BaseMKL
from polykern.estimators._inputs import sample_weights
from polykern.estimators._labels import Targets
from polykern.estimators._parameters import check_between
from polykern.estimators._transform import CombinedKernelMixin
from polykern.losses import Loss, as_loss


class MKLOneClass(CombinedKernelMixin, OutlierMixin, BaseMKL):
    """Novelty detection that learns its kernel, in one convex problem.

        min_{f_1..f_F, rho}   Omega(|f_1|, .., |f_F|)  -  rho  +  sum_i C_i max(0, rho - sum_k f_k(x_i))

    with C_i = sample_weight_i / (nu * sum of sample weights). Decision values are multiplied by nu * (sum of sample
    weights), so that with one kernel they are those of scikit-learn's OneClassSVM; `result_` is in the units of the
    problem.

    Parameters
    ----------
    kernels : str, kernel or list, default="rbf-grid"
        As in `MKLClassifier`. The default is Gaussians of eleven widths on all columns: their sum falls to zero far
        from the data, so that what is far is an outlier. Linear and polynomial kernels grow with the distance, and a
        Gaussian on one column does not see the others: with "default" far points can count as inside.
    nu : float, default=0.5
        Upper bound on the share of training samples outside, lower bound on the share of support vectors; in (0, 1].
    regularizer, solver, tol, max_iter, time_limit, normalize, memory, n_jobs, keep_training_data, random_state,
    verbose, callbacks
        As in `MKLClassifier`. With "l1" the kernel that sees the data as most alike gets the weight: for a sum of views
        rather take regularizer="l2".

    Attributes
    ----------
    weights_, kernel_names_, kernel_weights_, result_, support_, n_iter_, n_features_in_, feature_names_in_
        As in `MKLClassifier`.
    dual_coef_ : ndarray of shape (n_support,)
    intercept_ : float
    offset_ : float
        decision_function = score_samples - offset_.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import MKLOneClass, kernels
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = MKLOneClass([kernels.RBF(gamma=0.1), kernels.RBF(gamma=1.0)], nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        kernels: Any = "rbf-grid",
        *,
        nu: float = 0.5,
        regularizer: Any = "l1",
        solver: Any = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        time_limit: float | None = None,
        normalize: str | None = "mean-diagonal",
        memory: str | int = "auto",
        n_jobs: int | None = None,
        keep_training_data: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
        callbacks: Any = None,
    ) -> None:
        self.kernels = kernels
        self.nu = nu
        self.regularizer = regularizer
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.normalize = normalize
        self.memory = memory
        self.n_jobs = n_jobs
        self.keep_training_data = keep_training_data
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MKLOneClass:
        """Learn kernel weights and region.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features), or sample indices (n,) for Precomputed kernels
        y : ignored
        sample_weight : array-like of shape (n,), default=None
            Factor on the cost of each sample; 2 is the sample twice, 0 leaves it out.
        """
        settings = self._settings()
        samples = self._training_samples(X)
        weights = sample_weights(sample_weight, len(samples))
        rows = np.flatnonzero(weights)
        self._scale = settings.loss.nu * float(weights.sum())
        targets = Targets(np.zeros((len(rows), 1)), weights[rows, None] / self._scale)
        self._learn(self._build_bank(samples.take(rows), self.normalize), targets, settings, rows)
        self.offset_ = -self.intercept_
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """(m,) scores, larger deeper inside: `decision_function` before the threshold."""
        return self.decision_function(X) + self.offset_

    def decision_function(self, X: Any) -> np.ndarray:
        """(m,) signed distances from the border of the region, above 0 inside."""
        return self._outputs(X)[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """+1 for samples inside the region, -1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _resolve_loss(self) -> Loss:
        nu = check_between("nu", self.nu, 0.0, 1.0, low_open=True, hint=": the share of outliers")
        return as_loss("one_class", nu=nu)

    def _output_scale(self, n_samples: int) -> float:
        return self._scale
