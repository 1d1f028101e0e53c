"""MKLClassifier: two classes, or more by one-vs-rest and one-vs-one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from polykern.bank import KernelBank
from polykern.estimators._calibration import Sigmoid, fit_sigmoid
from polykern.estimators._decision import normalised, pairwise_probabilities, votes_with_confidence
from polykern.estimators._inputs import one_column
from polykern.estimators._labels import (
    Targets,
    binary_targets,
    class_factors,
    joint_targets,
    one_vs_one_targets,
    one_vs_rest_targets,
)
from polykern.estimators._parameters import check_flag
from polykern.estimators._probability import crossfit_outputs, stratified_folds
from polykern.estimators._solve import Settings
from polykern.estimators._strategy import loss_and_strategy
from polykern.estimators._supervised import SupervisedMKL, TrainingData
from polykern.estimators._transform import CombinedKernelMixin
from polykern.losses import Logistic, Loss

_CLASSIFICATION_LOSSES = "'hinge', 'squared_hinge', 'smooth_hinge', 'logistic', 'multiclass'"


def _gives_probabilities(estimator: Any) -> bool:
    if not (estimator.probability or _is_logistic(estimator.loss)):
        raise AttributeError(
            "predict_proba needs probability=True (Platt's sigmoid on cross-fitted outputs) or loss='logistic': "
            f"this {type(estimator).__name__} has loss={estimator.loss!r} and probability=False."
        )
    return True


def _is_logistic(loss: Any) -> bool:
    return isinstance(loss, Logistic) or (isinstance(loss, str) and loss == "logistic")


class MKLClassifier(CombinedKernelMixin, ClassifierMixin, SupervisedMKL):
    """Classifier that learns its kernel: weights of the given kernels, and the machine on their sum, in one problem.

        min_{f_1..f_F, bias}   Omega(|f_1|, .., |f_F|)  +  sum_i C_i loss(sum_k f_k(x_i) + bias, y_i)

    with C_i = C * sample_weight_i * class_weight_{y_i}. It stops when the relative duality gap of this problem is below
    `tol`, so the answer is known to be that close to the optimum, whatever the solver.

    Parameters
    ----------
    kernels : str, kernel or list, default="default"
        List of (name, kernel) or (name, kernel, columns) tuples, columns being names, positions, a slice or a column
        selector; or a list of kernels, of kernel names or of callables; or one of them. "default" is a linear, a
        quadratic and five RBF kernels around the width "scale", with up to 30 columns also an RBF kernel on each;
        "rbf-grid" is eleven widths. They look at distances: standardise the columns first (StandardScaler). With
        `Precomputed` kernels X holds sample indices.
    loss : str or Loss, default="hinge"
        "hinge", "squared_hinge", "smooth_hinge", "logistic", "multiclass" (the hinge of all classes together), or an
        object of `polykern.losses`.
    multiclass : {"auto", "ovr", "ovo", "joint"}, default="auto"
        How more than two classes become one problem or several: one class against the rest, each pair of classes, or
        all of them together, by the hinge of the true class's output above all others ("joint", with loss="hinge" or
        "multiclass"; MC-MKL, and with `MarginSimplex` M3K). "auto" is "joint" for loss="multiclass", otherwise "ovr".
    share_weights : bool, default=True
        One set of kernel weights for all binary problems (they are then one problem); False gives each its own, which
        "joint" cannot.
    regularizer : str, float or Regularizer, default="l1"
        What the kernel weights are confined to: "l1" keeps few kernels, "l2" or a number p >= 1 confines the p-norm of
        the weights, "linf" is the plain sum of the kernels. To search over p write LpBall(p=1.5) and vary
        `regularizer__p`.
    solver : str or Solver, default="auto"
        How the problem is solved; never what is solved.
    C : float, default=1.0
        Cost of the losses against the norm.
    tol : float, default=1e-3
        Relative duality gap to stop at, certified.
    max_iter : int, default=1000
        Iterations of the solver at most.
    time_limit : float or None, default=None
        Seconds at most; the best point so far is kept, with its gap and a warning.
    fit_intercept : bool or "auto", default="auto"
        Whether the problem has a bias; "auto" is True, except for the joint problem and for Obscure, Pegasos and UFO,
        which have none in the papers.
    normalize : str or None, default="mean-diagonal"
        How kernels are brought to one scale, fitted on the training samples: "mean-diagonal" (mean of the diagonal 1),
        "trace", "diagonal", "center", "center-diagonal" or None.
    memory : str or int, default="auto"
        Budget for kernel values: "4GB", a number of bytes, or "auto", half of what is free.
    n_jobs : int or None, default=None
        Threads; None uses all cores this process may use.
    class_weight : dict, "balanced" or None, default=None
        Factor on the cost of each class, by the labels in y; labels that are not named have 1.
    probability : bool, default=False
        Learn Platt's sigmoid for `predict_proba`, on decision values from five folds.
    keep_training_data : bool, default=False
        Keep all training samples instead of the support vectors alone, for `transform`.
    random_state : int, RandomState or None, default=None
        Seeds the folds of `probability=True`.
    verbose : bool or int, default=False
        1: a line per iteration.
    callbacks : callable, list of callables or None, default=None
        Called by the solver after each iteration.

    Attributes
    ----------
    weights_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
        Kernel weights; one row per binary problem with share_weights=False.
    kernel_names_ : tuple of str
    kernel_weights_ : dict
        Name of the kernel -> its weight.
    result_ : MKLResult
        Coefficients, objective, certified gap, status and history, in the units of the problem.
    classes_ : ndarray
        Labels in sorted order; of two, the second is the positive one.
    support_ : ndarray of shape (n_support,)
        Positions of the support vectors in the X of `fit`.
    dual_coef_ : ndarray of shape (n_support,) or (n_outputs, n_support)
        Their coefficients, signed; one row per binary problem where there are several.
    intercept_ : float or ndarray of shape (n_outputs,)
    fit_intercept_ : bool
        What fit_intercept="auto" came to.
    memory_plan_ : str
        Where each kernel was kept during fit, and why.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str, for frames only

    Examples
    --------
    >>> from polykern import MKLClassifier, kernels
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> shape = ["petal length (cm)", "petal width (cm)"]
    >>> model = MKLClassifier([("petal", kernels.RBF(), shape), ("all", kernels.Linear())]).fit(X, y)
    >>> list(model.kernel_weights_)
    ['petal', 'all']
    """

    def __init__(
        self,
        kernels: Any = "default",
        *,
        loss: Any = "hinge",
        multiclass: str = "auto",
        share_weights: bool = True,
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
        class_weight: Any = None,
        probability: bool = False,
        keep_training_data: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
        callbacks: Any = None,
    ) -> None:
        self.kernels = kernels
        self.loss = loss
        self.multiclass = multiclass
        self.share_weights = share_weights
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
        self.class_weight = class_weight
        self.probability = probability
        self.keep_training_data = keep_training_data
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MKLClassifier:
        """Learn kernel weights and machine.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features), or sample indices (n,) for Precomputed kernels
        y : array-like of shape (n,)
            Labels of any kind, at least two different ones.
        sample_weight : array-like of shape (n,), default=None
            Factor on the cost of each sample; 2 is the sample twice, 0 leaves it out.
        """
        self._fit(X, y, sample_weight)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values: (m,) for two classes, above 0 for the second; otherwise (m, n_classes), the largest wins.

        One-vs-one: votes of the pairs, plus a term below 1/3 that orders equal votes by their confidence.
        """
        return self._decision(self._outputs(X))

    def predict(self, X: Any) -> np.ndarray:
        """Label of each sample."""
        decision = self.decision_function(X)
        return self.classes_[decision.argmax(axis=1) if decision.ndim == 2 else (decision > 0).astype(int)]

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, (m, n_classes).

        With loss="logistic" the model's own: the sigmoid of the decision value (more classes: normalised to sum 1;
        one-vs-one: mean over the pairs of the class). With probability=True Platt's sigmoid per decision column,
        learned on decision values of samples that the machine had not seen. The kernel weights had: they are learned
        once, on all samples, and held fixed in the folds. With few samples and many kernels that makes the
        probabilities somewhat too sure of themselves; where this matters, wrap the whole model in
        sklearn.calibration.CalibratedClassifierCV. As everywhere with Platt's sigmoid, the most probable class can
        differ from `predict` near the border.
        """
        outputs = self._outputs(X)
        if self._sigmoids is None:
            return self._own_probabilities(outputs)
        columns = self._decision(outputs).reshape(len(outputs), -1)
        positive = np.column_stack([sigmoid(f) for sigmoid, f in zip(self._sigmoids, columns.T, strict=True)])
        return normalised(positive)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X))

    # ---- inside
    # -------------------------------------------------------------------------------------------------------

    def _resolve_loss(self) -> Loss:
        check_flag("probability", self.probability)
        check_flag("share_weights", self.share_weights)
        loss, _ = self._loss_and_strategy()
        if loss.targets not in ("signs", "classes"):
            raise ValueError(
                f"loss is {self.loss!r}, which is not a loss for labels; MKLClassifier takes {_CLASSIFICATION_LOSSES} "
                "(MKLRegressor takes the losses for real targets)."
            )
        return loss

    def _loss_and_strategy(self) -> tuple[Loss, str]:
        return loss_and_strategy(self.loss, self.multiclass, bool(self.share_weights))

    def _checked_y(self, y: Any, n_samples: int) -> np.ndarray:
        return _checked_labels(y, n_samples)

    def _unit_targets(self, y: np.ndarray, weights: np.ndarray) -> Targets:
        codes = self._encode(y)
        factors = class_factors(self.class_weight, self.classes_, codes, weights)
        return self._targets(codes, weights * factors[codes])

    def _encode(self, labels: np.ndarray) -> np.ndarray:
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has only one class, {self.classes_.tolist()[0]!r} (among samples of weight above 0), expected at "
                "least two classes; to learn from one class use MKLOneClass."
            )
        return codes

    def _targets(self, codes: np.ndarray, costs: np.ndarray) -> Targets:
        n_classes = len(self.classes_)
        # Kept from fit: one-vs-one of three classes has as many outputs as one-vs-rest, so their number does not tell.
        _, self._strategy = self._loss_and_strategy()
        self._one_vs_one = n_classes > 2 and self._strategy == "ovo"
        if self._strategy == "joint":
            return joint_targets(codes, costs, n_classes)
        if n_classes == 2:
            return binary_targets(codes, costs)
        return (one_vs_one_targets if self._one_vs_one else one_vs_rest_targets)(codes, costs, n_classes)

    def _decision(self, outputs: np.ndarray) -> np.ndarray:
        if outputs.shape[1] == 1:
            return outputs[:, 0]
        if len(self.classes_) == 2:
            return outputs[:, 1] - outputs[:, 0]
        return votes_with_confidence(outputs, len(self.classes_)) if self._one_vs_one else outputs

    def _own_probabilities(self, outputs: np.ndarray) -> np.ndarray:
        from scipy.special import expit

        if self._one_vs_one:
            return pairwise_probabilities(outputs, len(self.classes_))
        return normalised(expit(outputs))

    def _calibrate(self, bank: KernelBank, targets: Targets, settings: Settings, data: TrainingData) -> None:
        """Platt's sigmoid for every decision column; none where probabilities are not asked for."""
        self._sigmoids: list[Sigmoid] | None = None
        if not self.probability:
            return
        codes, random_state = np.searchsorted(self.classes_, data.y), check_random_state(self.random_state)
        outputs = crossfit_outputs(bank, targets, settings, self.result_, stratified_folds(codes, random_state))
        columns = self._decision(outputs).reshape(len(codes), -1)
        first = 1 if columns.shape[1] == 1 else 0
        self._sigmoids = [fit_sigmoid(f, codes == first + column, data.weights) for column, f in enumerate(columns.T)]


def _checked_labels(
    y: Any, n_samples: int, owner: str = "MKLClassifier", otherwise: str = "MKLRegressor takes real numbers"
) -> np.ndarray:
    """(n,) labels of any kind, one per sample and none missing."""
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None: give one label per sample.")
    labels = one_column(y)
    if len(labels) != n_samples:
        raise ValueError(f"y has {len(labels)} labels and X has {n_samples} samples, expected one label per sample.")
    _check_none_missing(labels)
    assert_all_finite(labels, input_name="y")
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise ValueError(f"{str(error).rstrip('.')}; {otherwise}.") from error
    return labels


def _check_none_missing(labels: np.ndarray) -> None:
    if labels.dtype != object:
        return
    missing = np.flatnonzero([_is_missing(label) for label in labels])
    if missing.size:
        raise ValueError(f"y has no label for sample {missing[0]}, expected one for every sample: leave it out.")


def _is_missing(label: Any) -> bool:
    """None, NaN, and what pandas writes for a missing value: equal to nothing, itself included."""
    if label is None:
        return True
    try:
        return not bool(label == label)
    except TypeError:  # pandas.NA has no truth value
        return True
