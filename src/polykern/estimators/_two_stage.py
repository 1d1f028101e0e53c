"""TwoStageMKL: kernel weights by a rule of their own, then any kernel machine on the weighted sum."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from polykern.bank import KernelBank
from polykern.estimators._classifier import _checked_labels
from polykern.estimators._inputs import sample_weights
from polykern.estimators._kernels import NamedKernels, named_kernels, stored_dtype
from polykern.estimators._many_kernels import BLOCK_NUMBERS, ManyKernels
from polykern.estimators._parameters import check_flag
from polykern.estimators._regressor import _checked_values
from polykern.estimators._transform import CombinedKernelMixin
from polykern.kernels import Kernel, normalizer
from polykern.parallel import spans
from polykern.weighting import Weighting, as_weighting
from polykern.weighting.learner import on_matrices


def _learner_has(method: str) -> Any:
    def check(estimator: Any) -> bool:
        getattr(getattr(estimator, "learner_", None) or estimator._learner, method)  # its own AttributeError says why
        return True

    return check


class TwoStageMKL(CombinedKernelMixin, ManyKernels):
    """Kernel weights first, by a rule that needs no machine or many small ones, then one machine on the weighted sum.

    Stage one: `weighting` chooses b >= 0 with sum 1 from kernels and labels. Stage two: `learner`, a classifier or
    regressor of scikit-learn's interface, is trained on the matrix sum_k b_k K_k; this estimator is of its kind. Unlike
    `MKLClassifier` and `MKLRegressor` the two are not one problem, so there is no common optimum and no gap.

    Parameters
    ----------
    kernels : str, kernel or list, default="default"
        As in `MKLClassifier`.
    weighting : str or Weighting, default="alignf"
        A name such as "alignf", "align", "uniform", "best", "product", "cka", "pwmk" or "f-heuristic", or an object
        of `polykern.weighting`, whose parameters a grid search reaches as `weighting__cv`.
    learner : estimator or None, default=None
        A machine with a parameter `kernel` that takes "precomputed", such as SVC, NuSVC, SVR or KernelRidge; it is
        cloned, and its `kernel` set. None is SVC(); for real targets give SVR(). A grid search reaches the parameters
        of a given learner as `learner__C`.
    normalize : str or None, default="mean-diagonal"
        How kernels are brought to one scale, as in `MKLClassifier`. The default suits machines with a bias, which see
        no difference between kernels and centred kernels; "center-diagonal" is how alignment is usually tried in
        papers, and with "center" a machine without a bias, such as KernelRidge, needs its targets centred too.
    memory, n_jobs
        As in `MKLClassifier`; the learner needs room for one dense kernel matrix.
    keep_training_data : bool, default=False
        Keep all training samples instead of the support vectors alone, for `transform`. Learners without `support_`
        need all of them anyway.
    random_state : int, RandomState or None, default=None
        Seeds what the weighting draws, such as folds. The learner has its own.

    Attributes
    ----------
    weights_ : ndarray of shape (n_kernels,)
    kernel_names_ : tuple of str
    kernel_weights_ : dict
        Name of the kernel -> its weight. With weighting="product" the product is the only kernel.
    learner_ : estimator
        The learner, fitted to the weighted sum.
    classes_ : ndarray, for classifiers only
    support_ : ndarray of shape (n_support,)
        Positions in the X of `fit` of the samples that prediction reads: the support vectors, where the learner has
        such.
    memory_plan_ : str
        Where each kernel was kept during fit, and why.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, for frames only

    Examples
    --------
    >>> from polykern import TwoStageMKL, kernels
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> views = [("petal", kernels.RBF(), ["petal length (cm)"]), ("sepal", kernels.RBF(), ["sepal width (cm)"])]
    >>> model = TwoStageMKL(views, weighting="align", learner=SVC(C=10)).fit(X, y)
    >>> max(model.kernel_weights_, key=model.kernel_weights_.get)
    'petal'
    """

    def __init__(
        self,
        kernels: Any = "default",
        *,
        weighting: Any = "alignf",
        learner: Any = None,
        normalize: str | None = "mean-diagonal",
        memory: str | int = "auto",
        n_jobs: int | None = None,
        keep_training_data: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.weighting = weighting
        self.learner = learner
        self.normalize = normalize
        self.memory = memory
        self.n_jobs = n_jobs
        self.keep_training_data = keep_training_data
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TwoStageMKL:
        """Choose kernel weights, then train the learner on the weighted sum.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features), or sample indices (n,) for Precomputed kernels
        y : array-like of shape (n,)
            Labels of any kind for a classifier, real numbers for a regressor.
        sample_weight : array-like of shape (n,), default=None
            Given on to the learner. For the kernel weights every sample counts once; 0 leaves it out altogether.
        """
        weighting, learner = self._checked_stages(sample_weight)
        samples = self._training_samples(X)
        targets = self._checked_y(y, len(samples))
        importance = sample_weights(sample_weight, len(samples))
        rows = np.flatnonzero(importance)
        targets = targets[rows]
        codes = targets if is_regressor(learner) else self._encoded(targets)
        bank = self._build_bank(samples.take(rows), self.normalize)
        self._require_room(bank)
        weights = weighting.weights(bank, codes, check_random_state(self.random_state))
        K = bank.combine(weights, dtype="float64" if bank.fits_combined_double else None)
        extra = {} if sample_weight is None else {"sample_weight": importance[rows]}
        self.learner_ = learner.fit(K, targets, **extra)
        self._keep(bank, weights, rows)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Label or value of each sample."""
        return self._ask("predict", X)

    @available_if(_learner_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """The learner's decision values."""
        return self._ask("decision_function", X)

    @available_if(_learner_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """The learner's probability of each class, (m, n_classes)."""
        return self._ask("predict_proba", X)

    @available_if(_learner_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of `predict_proba`."""
        return self._ask("predict_log_proba", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R^2 of a regressor."""
        from sklearn.metrics import accuracy_score, r2_score

        measure = r2_score if is_regressor(self) else accuracy_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def summary(self) -> str:
        """The fitted model as text: data, the two stages, largest weights, memory plan."""
        from polykern.estimators._summary import _data, _planned, _weight_lines

        check_is_fitted(self)
        facts = {
            "data": _data(self),
            "weights": f"by {as_weighting(self.weighting)!r}",
            "learner": repr(self.learner_),
            "support": f"{len(self.support_)} of {self._n_samples_fit} samples",
            "memory": f"{_planned(self.memory_plan_)} (memory_plan_ has the details)",
        }
        lines = [f"  {name:<9}{text}" for name, text in facts.items()]
        return "\n".join([type(self).__name__, *lines, "", *_weight_lines(self)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        learner = self._learner
        if hasattr(learner, "__sklearn_tags__"):  # a mistake there is for fit to name
            of_learner = get_tags(learner)
            tags.estimator_type = of_learner.estimator_type
            tags.classifier_tags, tags.regressor_tags = of_learner.classifier_tags, of_learner.regressor_tags
        return tags

    # ---- arguments
    # ----------------------------------------------------------------------------------------------------

    @property
    def _learner(self) -> Any:
        if self.learner is not None:
            return self.learner
        from sklearn.svm import SVC

        return SVC()

    def _checked_stages(self, sample_weight: Any) -> tuple[Weighting, Any]:
        """Weighting and a clone of the learner, after a look at all arguments."""
        named_kernels(self.kernels)  # a mistake in the list is named before the data are read
        check_flag("keep_training_data", self.keep_training_data)
        normalizer(self.normalize)
        weighting, learner = as_weighting(self.weighting), on_matrices(self._learner)
        if not (is_classifier(learner) or is_regressor(learner)):
            raise ValueError(
                f"learner is {self.learner!r}, expected a classifier or a regressor, such as SVC() or SVR()."
            )
        if is_regressor(learner) and not weighting.for_regression:
            raise ValueError(
                f"weighting is {self.weighting!r}, which needs classes, and the learner {self.learner!r} is a "
                "regressor; 'alignf', 'align' and 'uniform', for example, take real targets."
            )
        if sample_weight is not None and not has_fit_parameter(learner, "sample_weight"):
            raise ValueError(f"sample_weight is given, and the learner {self.learner!r} takes none: leave it out.")
        return weighting, learner

    def _checked_y(self, y: Any, n_samples: int) -> np.ndarray:
        owner = type(self).__name__
        if is_regressor(self._learner):
            return _checked_values(y, n_samples, owner, "for labels give a classifier, such as learner=SVC()")
        return _checked_labels(y, n_samples, owner, "for real numbers give a regressor, such as learner=SVR()")

    def _encoded(self, labels: np.ndarray) -> np.ndarray:
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has only one class, {self.classes_.tolist()[0]!r} (among samples of weight above 0), expected at "
                "least two classes."
            )
        return codes

    # ---- fit
    # ----------------------------------------------------------------------------------------------------------

    def _terms(self, named: NamedKernels) -> NamedKernels:
        names, kernels = as_weighting(self.weighting).terms(named.names, named.kernels)
        return NamedKernels(tuple(names), tuple(kernels))

    def _entry_dtype(self, kernels: tuple[Kernel, ...]) -> np.dtype:
        """What the tolerance of the learner needs, where it has one; a single kernel costs little in full."""
        tol = getattr(self._learner, "tol", 0.0) if len(kernels) > 1 else 0.0
        return stored_dtype(kernels, float(tol) if isinstance(tol, Real) else 0.0)

    def _require_room(self, bank: KernelBank) -> None:
        if not bank.fits_combined:
            n = bank.n_samples
            raise ValueError(
                f"memory is {self.memory!r}, too little for a dense {(n, n)} kernel matrix, which the learner needs; "
                "give more, or take MKLClassifier or MKLRegressor, which can do with rows of it."
            )

    def _keep(self, bank: KernelBank, weights: np.ndarray, rows: np.ndarray) -> None:
        """What prediction needs: the samples that the learner reads, which are its support vectors if it has such."""
        every = np.arange(bank.n_samples)
        support = np.asarray(getattr(self.learner_, "support_", every))
        self._columns_kept = support if support.ndim == 1 and support.dtype.kind in "iu" else every
        self.support_ = rows[self._columns_kept]
        self.weights_ = weights
        self.kernel_names_ = tuple(bank.names)
        self.memory_plan_ = bank.explain()
        self._n_samples_fit = bank.n_samples
        self._training_reference = bank.keep(every) if self.keep_training_data else None
        self._support_reference = bank.keep(self._columns_kept)

    # ---- prediction
    # -----------------------------------------------------------------------------------------------------

    def _ask(self, method: str, X: Any) -> np.ndarray:
        """What the learner says of new samples, in blocks of samples that keep the memory small."""
        check_is_fitted(self)
        samples = self._new_samples(X)
        blocks = spans(len(samples), BLOCK_NUMBERS // self._n_samples_fit) or [slice(0, 0)]
        answers = [getattr(self.learner_, method)(self._kernel_matrix(samples[rows])) for rows in blocks]
        return np.concatenate(answers)

    def _kernel_matrix(self, samples: np.ndarray) -> np.ndarray:
        """(m, n) combined kernel with the training samples; columns that the learner does not read are zero."""
        known = self._support_reference.against(samples, self.weights_)
        if np.array_equal(self._columns_kept, np.arange(self._n_samples_fit)):
            return known
        K = np.zeros((len(samples), self._n_samples_fit), dtype=known.dtype)
        K[:, self._columns_kept] = known
        return K
