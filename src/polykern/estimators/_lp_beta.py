"""LPBetaClassifier: one machine per kernel, and a linear program over what they say of samples they have not seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from polykern.bank.callers import users_line
from polykern.estimators._classifier import _checked_labels
from polykern.estimators._inputs import sample_weights
from polykern.estimators._kernel_machines import KernelMachines
from polykern.estimators._kernels import named_kernels, stored_dtype
from polykern.estimators._labels import Targets, binary_targets, class_factors, one_vs_rest_targets
from polykern.estimators._many_kernels import BLOCK_NUMBERS, ManyKernels
from polykern.estimators._parameters import check_count, check_flag, check_positive
from polykern.estimators._summary import _data, _planned, _weight_lines
from polykern.kernels import Kernel, normalizer
from polykern.losses import Loss, as_loss
from polykern.parallel import spans
from polykern.weighting.score_program import ScoreWeights, best_weights

Array = np.ndarray

# Gaps of the linear program: of the one that is kept, and of those that only compare values of nu.
_PROGRAM_TOL, _SEARCH_TOL = 1e-6, 1e-3


@dataclass(frozen=True)
class _Chosen:
    """The arguments of the constructor, checked, before any data is touched."""

    loss: Loss
    costs: Array
    nus: Array
    tol: float
    n_folds: int
    share_weights: bool
    fit_intercept: bool


@dataclass(frozen=True)
class _HeldOut:
    """What the machines say of samples left out of their training, at the best C of each kernel."""

    scores: Array  # (F, n, classes)
    accuracies: Array  # (F,) of each kernel alone
    costs: Array  # (F,)


class LPBetaClassifier(ClassifierMixin, ManyKernels):
    """Classifier that stacks one machine per kernel: LP-beta and LP-B.

    Every kernel gets a machine of its own (more classes: one against the rest for each class). Its scores f_kc(x) are
    those of samples left out of its training, fold by fold, and a linear program finds the weights with which the
    right class is ahead of the others:

        min_{beta, rho, xi >= 0}  -rho + 1/(nu N) sum_i xi_i
        sum_k beta_k (f_ky(x_i) - f_kc(x_i)) + xi_i >= rho   for all i and all c other than y = y_i
        beta >= 0,  sum_k beta_k = 1

    It is solved to a certified gap. Then the machines are trained on all samples, and the class of a new one is the c
    of the largest sum_k beta_k f_kc(x). With share_weights=False every class has weights of its own, each set of sum 1
    (LP-B). Unlike in `MKLClassifier`, it is outputs of machines that are added up, not kernels.

    Kernels and their normalization are read once off all training samples, without their labels; machines and weights
    are learned from labels, of which those of a fold are not seen by the machines that score it.

    Parameters
    ----------
    kernels : str, kernel or list, default="default"
        As in `MKLClassifier`.
    share_weights : bool, default=True
        One weight per kernel (LP-beta); False gives every class its own (LP-B), which takes many samples per class.
        With two classes there is one output, and both are the same.
    nu : float or list of floats, default=(0.1, 0.3, 0.5, 0.7, 0.9)
        In (0, 1]: the share of the samples whose margins count, the smallest ones. Of a list, the one whose weights
        classify best in a second cross-validation, on the scores; of equal ones the first.
    C : float or list of floats, default=1.0
        Cost of the losses. Of a list, every kernel takes the one with which its machines alone classify the samples
        left out best; of equal ones the first.
    cv : int, default=5
        Folds, stratified and shuffled.
    loss : str or Loss, default="hinge"
        Loss of the machines, as in `MKLClassifier`.
    tol : float, default=1e-3
        Relative duality gap of the machines.
    fit_intercept : bool, default=True
        Whether the machines have a bias.
    normalize, memory, n_jobs, class_weight
        As in `MKLClassifier`; class weights count in the machines and in the linear program.
    random_state : int, RandomState or None, default=None
        Seeds the folds.

    Attributes
    ----------
    weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Weights of the kernels' machines, of sum 1 in every row.
    kernel_names_ : tuple of str
    kernel_weights_ : dict
        Name of the kernel -> its weight; one per class with share_weights=False.
    result_ : ScoreWeights
        The linear program: objective, certified gap, margin.
    classes_ : ndarray
        Labels in sorted order; of two, the second is the positive one.
    nu_ : float
    nu_scores_ : ndarray
        Accuracy of each nu in the second cross-validation; empty where one nu is given.
    C_ : ndarray of shape (n_kernels,)
    kernel_scores_ : ndarray of shape (n_kernels,)
        Share of the samples left out that the machines of a kernel alone classify right.
    support_ : ndarray of shape (n_support,)
        Positions in the X of `fit` of the support vectors of all machines in use.
    dual_coef_ : ndarray of shape (n_kernels, n_outputs, n_support)
        Coefficients of the machines; 0 for kernels of weight 0, whose machines are not needed. One output for two
        classes, otherwise one per class.
    machine_intercept_ : ndarray of shape (n_kernels, n_outputs)
        Their biases.
    intercept_ : float or ndarray of shape (n_classes,)
        Bias of the weighted sum.
    memory_plan_ : str
        Where each kernel was kept during fit, and why.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, for frames only

    References
    ----------
    P. Gehler, S. Nowozin, "On feature combination for multiclass object classification", ICCV 2009.

    Examples
    --------
    >>> from polykern import LPBetaClassifier, kernels
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> sizes = [(part, kernels.RBF(), [f"{part} length (cm)", f"{part} width (cm)"]) for part in ("sepal", "petal")]
    >>> model = LPBetaClassifier(sizes, nu=0.5, random_state=0).fit(X, y)
    >>> model.kernel_weights_["petal"] > model.kernel_weights_["sepal"]
    True
    """

    def __init__(
        self,
        kernels: Any = "default",
        *,
        share_weights: bool = True,
        nu: Any = (0.1, 0.3, 0.5, 0.7, 0.9),
        C: Any = 1.0,
        cv: int = 5,
        loss: Any = "hinge",
        tol: float = 1e-3,
        fit_intercept: bool = True,
        normalize: str | None = "mean-diagonal",
        memory: str | int = "auto",
        n_jobs: int | None = None,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.share_weights = share_weights
        self.nu = nu
        self.C = C
        self.cv = cv
        self.loss = loss
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.normalize = normalize
        self.memory = memory
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LPBetaClassifier:
        """Learn the machines and their weights.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features), or sample indices (n,) for Precomputed kernels
        y : array-like of shape (n,)
            Labels of any kind, at least two different ones, at least two samples of each.
        sample_weight : array-like of shape (n,), default=None
            Factor on the cost of each sample, in the machines and in the linear program; 0 leaves it out.
        """
        chosen = self._chosen()
        samples = self._training_samples(X)
        labels = _checked_labels(y, len(samples), type(self).__name__)
        importance = sample_weights(sample_weight, len(samples))
        rows = np.flatnonzero(importance)
        unit = self._unit_targets(labels[rows], importance[rows])
        codes = np.searchsorted(self.classes_, labels[rows])
        random_state = check_random_state(self.random_state)
        folds = stratified_folds(codes, chosen.n_folds, self.classes_, random_state)
        bank = self._build_bank(samples.take(rows), self.normalize)
        machines = KernelMachines(bank, unit, chosen.loss, chosen.fit_intercept, chosen.tol, self.n_jobs)
        held_out = self._cross_fitted(machines, codes, chosen, folds)
        # Scores of a kernel that is zero everywhere are ahead by 0, which can be more than those of the others are.
        live = ~bank.null if not bank.null.all() else np.ones(bank.n_kernels, dtype=bool)
        found = self._weighed(held_out.scores[live], codes, unit, chosen, random_state)
        solution = replace(found, weights=_spread(found.weights, live))
        self._keep(solution, held_out, machines, rows)
        self._warn(machines)
        return self

    def decision_function(self, X: Any) -> Array:
        """Weighted sums of the scores: (m,) for two classes, above 0 for the second; otherwise (m, n_classes)."""
        outputs = self._outputs(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict(self, X: Any) -> Array:
        """Label of each sample."""
        decision = self.decision_function(X)
        return self.classes_[decision.argmax(axis=1) if decision.ndim == 2 else (decision > 0).astype(int)]

    def summary(self) -> str:
        """The fitted model as text: data, machines, linear program, largest weights, memory plan."""
        check_is_fitted(self)
        costs = ", ".join(f"{C:g}" for C in np.unique(self.C_))
        result = self.result_
        facts = {
            "data": _data(self),
            "machines": f"loss {self.loss}, C {costs}; alone they classify {self.kernel_scores_.min():.3f} to "
            f"{self.kernel_scores_.max():.3f} of the samples left out",
            "program": f"{result.status.value} (nu {self.nu_:g}, gap {result.gap:.2e}, primal {result.primal:.6g}, "
            f"{result.n_rows} rows, {result.seconds:.3g} s)",
            "support": f"{len(self.support_)} of {self._n_samples_fit} samples",
            "memory": f"{_planned(self.memory_plan_)} (memory_plan_ has the details)",
        }
        lines = [f"  {name:<9}{text}" for name, text in facts.items()]
        return "\n".join([type(self).__name__, *lines, "", *_weight_lines(self)])

    # ---- arguments
    # ----------------------------------------------------------------------------------------------------

    def _chosen(self) -> _Chosen:
        named_kernels(self.kernels)
        normalizer(self.normalize)
        return _Chosen(
            loss=self._resolve_loss(),
            costs=_numbers("C", self.C, np.inf),
            nus=_numbers("nu", self.nu, 1.0),
            tol=check_positive("tol", self.tol, ": it is the relative duality gap of the machines"),
            n_folds=check_count("cv", self.cv, 2),
            share_weights=check_flag("share_weights", self.share_weights),
            fit_intercept=check_flag("fit_intercept", self.fit_intercept),
        )

    def _resolve_loss(self) -> Loss:
        loss = as_loss(self.loss)
        if loss.targets != "signs":
            raise ValueError(
                f"loss is {self.loss!r}, and the machines of LPBetaClassifier separate one class from the rest; take "
                "'hinge', 'squared_hinge', 'smooth_hinge' or 'logistic'."
            )
        return loss

    def _entry_dtype(self, kernels: tuple[Kernel, ...]) -> np.dtype:
        return stored_dtype(kernels, self.tol)

    def _unit_targets(self, y: Array, weights: Array) -> Targets:
        self.classes_, codes = np.unique(y, return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"y has only one class, {self.classes_.tolist()[0]!r} (among samples of weight above 0), expected at "
                "least two classes."
            )
        costs = weights * class_factors(self.class_weight, self.classes_, codes, weights)[codes]
        return binary_targets(codes, costs) if n_classes == 2 else one_vs_rest_targets(codes, costs, n_classes)

    # ---- fit
    # ----------------------------------------------------------------------------------------------------------

    def _cross_fitted(self, machines: KernelMachines, codes: Array, chosen: _Chosen, folds: list[Array]) -> _HeldOut:
        """Scores of every kernel at the C that is best for it."""
        n_kernels, n_classes = machines.bank.n_kernels, len(self.classes_)
        scores = np.empty((n_kernels, len(codes), n_classes))
        accuracies, best = np.empty(n_kernels), np.empty(n_kernels)
        importance = machines.targets.costs[:, 0]
        for kernel in range(n_kernels):
            outputs = _class_scores(machines.held_out(kernel, chosen.costs, folds))
            right = [np.average(one.argmax(axis=1) == codes, weights=importance) for one in outputs]
            first = int(np.argmax(right))
            scores[kernel], accuracies[kernel], best[kernel] = outputs[first], right[first], chosen.costs[first]
        return _HeldOut(scores, accuracies, best)

    def _weighed(
        self, scores: Array, codes: Array, unit: Targets, chosen: _Chosen, random_state: np.random.RandomState
    ) -> ScoreWeights:
        """The program at the best nu; its cross-validation has folds of its own."""
        shared, importance = chosen.share_weights or len(self.classes_) == 2, unit.costs[:, 0]
        self.nu_, self.nu_scores_ = float(chosen.nus[0]), np.empty(0)
        if len(chosen.nus) > 1:
            folds = stratified_folds(codes, chosen.n_folds, self.classes_, random_state)
            self.nu_scores_ = np.array(
                [_held_out_accuracy(scores, codes, nu, shared, importance, folds) for nu in chosen.nus]
            )
            self.nu_ = float(chosen.nus[int(np.argmax(self.nu_scores_))])
        return best_weights(scores, codes, self.nu_, shared=shared, importance=importance, tol=_PROGRAM_TOL)

    def _keep(self, solution: ScoreWeights, held_out: _HeldOut, machines: KernelMachines, rows: Array) -> None:
        """Machines on all samples for the kernels in use, and their support vectors."""
        bank, n_outputs = machines.bank, machines.targets.values.shape[1]
        coef = np.zeros((bank.n_kernels, n_outputs, bank.n_samples))
        intercept = np.zeros((bank.n_kernels, n_outputs))
        for kernel in np.flatnonzero(np.atleast_2d(solution.weights).any(axis=0)).tolist():
            coef[kernel], intercept[kernel] = machines.on_all(kernel, float(held_out.costs[kernel]))
        support = np.flatnonzero(coef.any(axis=(0, 1)))
        self.result_ = solution
        self.weights_ = np.array(solution.weights)
        self.kernel_names_ = tuple(bank.names)
        self.C_, self.kernel_scores_ = held_out.costs, held_out.accuracies
        self.support_ = rows[support]
        self.dual_coef_ = np.ascontiguousarray(coef[:, :, support])
        self.machine_intercept_ = intercept
        combined = (self._weights_by_output() * intercept).sum(axis=0)
        self.intercept_ = float(combined[0]) if n_outputs == 1 else combined
        self.memory_plan_ = bank.explain()
        self._n_samples_fit = bank.n_samples
        self._support_reference = bank.keep(support)

    def _warn(self, machines: KernelMachines) -> None:
        missed = sum(gap > self.tol for gap in machines.gaps)
        if missed:
            warnings.warn(
                f"{type(self).__name__}: {missed} of {len(machines.gaps)} machines stopped before their gap was within "
                f"tol {self.tol:g} (the largest is {max(machines.gaps):.2e}).",
                ConvergenceWarning,
                stacklevel=users_line(),
            )
        if not self.result_.status.converged:
            warnings.warn(
                f"{type(self).__name__}: the linear program {self.result_.status.value} (gap {self.result_.gap:.2e}).",
                ConvergenceWarning,
                stacklevel=users_line(),
            )

    # ---- prediction
    # -----------------------------------------------------------------------------------------------------

    def _weights_by_output(self) -> Array:
        """(F, 1) or (F, classes)."""
        return self.weights_[:, None] if self.weights_.ndim == 1 else self.weights_.T

    def _outputs(self, X: Any) -> Array:
        """(m, T) weighted sums of the machines' outputs, in blocks of samples that keep the memory small."""
        check_is_fitted(self)
        samples = self._new_samples(X)
        blocks = spans(len(samples), BLOCK_NUMBERS // max(1, len(self.support_))) or [slice(0, 0)]
        return np.concatenate([self._block_outputs(samples[rows]) for rows in blocks]) + np.atleast_1d(self.intercept_)

    def _block_outputs(self, samples: Array) -> Array:
        """Kernel by kernel: they share the samples, not the coefficients."""
        n_kernels, n_outputs, n_support = self.dual_coef_.shape
        total = np.zeros((len(samples), n_outputs))
        weighted = self._weights_by_output()[:, :, None] * self.dual_coef_
        for kernel in np.flatnonzero(weighted.any(axis=(1, 2))).tolist():
            block = self._support_reference.against(samples, np.arange(n_kernels) == kernel)
            total += block @ weighted[kernel].T
        return total


def stratified_folds(codes: Array, n_folds: int, classes: Array, random_state: np.random.RandomState) -> list[Array]:
    """The samples left out in each fold, classes spread evenly; no class is ever left out as a whole."""
    counts = np.bincount(codes)
    if counts.min() < 2:
        alone = classes.tolist()[int(np.argmin(counts))]
        raise ValueError(
            f"y has a single sample of class {alone!r} (of weight above 0), expected at least two of each class: the "
            "scores are those of samples left out of training."
        )
    # Dealing the shuffled samples out class by class, like cards.
    shuffled = random_state.permutation(len(codes))
    dealt = shuffled[np.argsort(codes[shuffled], kind="stable")]
    return [np.sort(dealt[fold::n_folds]) for fold in range(min(n_folds, len(codes)))]


def _held_out_accuracy(
    scores: Array, codes: Array, nu: float, shared: bool, importance: Array, folds: list[Array]
) -> float:
    """Share of the samples that weights learned without their fold classify right."""
    right = np.zeros(len(codes))
    for test in folds:
        train = np.setdiff1d(np.arange(len(codes)), test)
        found = best_weights(
            scores[:, train], codes[train], nu, shared=shared, importance=importance[train], tol=_SEARCH_TOL
        )
        columns = np.broadcast_to(found.weights, (scores.shape[2], scores.shape[0]))
        right[test] = np.einsum("cf,fnc->nc", columns, scores[:, test]).argmax(axis=1) == codes[test]
    return float(np.average(right, weights=importance))


def _spread(weights: Array, live: Array) -> Array:
    """Weights of some kernels among those of all, 0 for the others."""
    spread = np.zeros((*weights.shape[:-1], len(live)))
    spread[..., live] = weights
    return spread


def _class_scores(outputs: Array) -> Array:
    """A score per class; of a single output, minus and plus a half of it: the difference is the output itself."""
    return np.concatenate([-0.5 * outputs, 0.5 * outputs], axis=-1) if outputs.shape[-1] == 1 else outputs


def _numbers(name: str, given: Any, highest: float) -> Array:
    """One number or a list of different ones, above 0 and at most `highest`, as an array."""
    expected = "a finite number above 0" if np.isinf(highest) else f"a number in (0, {highest:g}]"
    values = [given] if isinstance(given, Real) else given
    listed = None if isinstance(values, str | dict) or not np.iterable(values) else list(values)
    if listed is None or not all(isinstance(value, Real) and not isinstance(value, bool) for value in listed):
        raise TypeError(f"{name} is {given!r}, expected {expected} or a list of them.")
    numbers = np.array(listed, dtype=np.float64)
    inside = (numbers > 0.0) & (numbers <= highest) & np.isfinite(numbers)
    if not len(numbers) or not inside.all() or len(np.unique(numbers)) < len(numbers):
        raise ValueError(f"{name} is {given!r}, expected {expected}, or a list of them, none twice.")
    return numbers
