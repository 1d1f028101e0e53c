"""MKLClassifierCV and MKLRegressorCV: C and p chosen by cross-validation on one bank."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, indexable

from polykern.bank import KernelBank
from polykern.bank.callers import users_line
from polykern.estimators._classifier import MKLClassifier
from polykern.estimators._grid import Grid, costs_of, norms_of
from polykern.estimators._inputs import as_array
from polykern.estimators._regressor import MKLRegressor
from polykern.estimators._search import Fold, HeldOut, Scores, Search
from polykern.estimators._supervised import SupervisedMKL, TrainingData
from polykern.kernels import normalizer
from polykern.regularizers import Regularizer, as_regularizer


class _HeldOutClassifier(HeldOut, MKLClassifier):
    """A classifier of one fold."""


class _HeldOutRegressor(HeldOut, MKLRegressor):
    """A regressor of one fold."""


class _SearchMixin(SupervisedMKL):
    """A fit that first looks for C and p."""

    Cs: Any
    ps: Any
    cv: Any
    scoring: Any
    random_state: Any
    _fold_model: type[HeldOut]

    def _resolve_regularizer(self) -> Regularizer:
        return as_regularizer(float(norms_of(self.ps)[0]))

    def _fit_search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        settings, grid = self._settings(), Grid(costs_of(self.Cs), norms_of(self.ps))
        normalizer(self.normalize)
        self._check_scoring()
        data = self._training_data(X, y, sample_weight)
        unit = self._unit_targets(data.y, data.weights)
        if self.__sklearn_is_fitted__():  # an earlier fit: a search that does not end leaves none behind
            del self._support_reference
        try:
            folds = list(self._folds(X, y, groups, data))
            bank = self._build_bank(data.samples, None)
            search = Search(bank, data, grid, settings, self.normalize)
            scores = search.run(folds)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"the search of {type(self).__name__} was interrupted before it was through: nothing is fitted."
            ) from None
        self._choose(grid, scores)
        whole = self._all_samples(bank)
        at_best = replace(search.settings_at(grid.points[self.best_index_]), verbose=search.settings.verbose)
        targets = unit.times(self.C_)
        self._learn(whole, targets, at_best, data.rows, search.start_for_all(self.best_index_))
        self._calibrate(whole, targets, at_best, data)

    def _all_samples(self, bank: KernelBank) -> KernelBank:
        """The bank normalized on all samples; written out where that changes more than the scale of a kernel."""
        every = np.arange(bank.n_samples)
        whole = bank.refitted(self.normalize, every)
        return whole if self.normalize in (None, "mean-diagonal", "trace") else whole.subset(every)

    # ---- folds
    # ----------------------------------------------------------------------------------------------------------

    def _folds(self, X: Any, y: Any, groups: Any, data: TrainingData) -> Iterator[Fold]:
        """The folds of the splitter, without the samples of weight 0."""
        from sklearn.metrics import check_scoring
        from sklearn.model_selection import check_cv

        X, labels, groups = indexable(X, as_array(y).ravel(), groups)
        place = np.full(len(labels), -1)
        place[data.rows] = np.arange(len(data.rows))
        splits = list(check_cv(self._splitter(), labels, classifier=is_classifier(self)).split(X, labels, groups))
        for number, parts in enumerate(splits):
            train, test = (place[np.arange(len(labels))[part]] for part in parts)
            train, test = train[train >= 0], test[test >= 0]
            if not len(train) or not len(test):
                raise ValueError(
                    f"fold {number} of cv has {len(train)} samples of weight above 0 to learn from and {len(test)} to "
                    "score, expected some of both: take fewer folds."
                )
            model = self._model_of_fold()
            X_test = _safe_indexing(X, data.rows[test])
            model.expect(X_test)
            scorer = check_scoring(model, scoring=self.scoring)
            yield Fold(number, train, test, model, scorer, X_test, data.y[test])

    def _splitter(self) -> Any:
        """A number of folds is taken in the order of the samples, as scikit-learn does, unless there is a seed."""
        if not isinstance(self.cv, Integral) or self.random_state is None:
            return self.cv
        from sklearn.model_selection import KFold, StratifiedKFold

        shuffled = StratifiedKFold if is_classifier(self) else KFold
        return shuffled(int(self.cv), shuffle=True, random_state=self.random_state)

    def _model_of_fold(self) -> HeldOut:
        known = set(self._fold_model._get_param_names())
        return self._fold_model(**{name: value for name, value in self.get_params(deep=False).items() if name in known})

    def _check_scoring(self) -> None:
        if self.scoring is not None and not isinstance(self.scoring, str) and not callable(self.scoring):
            raise TypeError(
                f"scoring is {self.scoring!r}, expected None, the name of one score such as 'accuracy', or a callable "
                "(model, X, y) -> number; several scores at once take GridSearchCV."
            )

    # ---- outcome
    # --------------------------------------------------------------------------------------------------------

    def _choose(self, grid: Grid, scores: Scores) -> None:
        """The point of the best mean score; of equal ones the first: the smallest C and p of a rising grid."""
        self.cv_results_ = scores.as_cv_results(grid.points)
        means = self.cv_results_["mean_test_score"]
        if np.isnan(means).all():
            raise ValueError(f"scoring={self.scoring!r} gave no number at any point of the grid, expected scores.")
        self.n_splits_ = scores.shape[1]
        self.best_index_ = int(np.argmin(self.cv_results_["rank_test_score"]))
        self.best_score_ = float(means[self.best_index_])
        self.C_, self.p_ = grid.points[self.best_index_].C, grid.points[self.best_index_].p
        missed = int(np.sum(scores.converged == 0))
        if missed:
            warnings.warn(
                f"{type(self).__name__}: {missed} of the {scores.converged.size} fits of the search stopped before "
                f"the certified gap was within tol {self.tol:g} (the largest gap is {scores.gaps.max():.2e}).",
                ConvergenceWarning,
                stacklevel=users_line(),
            )


class MKLClassifierCV(_SearchMixin, MKLClassifier):
    """`MKLClassifier` that chooses C and the norm p of the kernel weights by cross-validation, kernels computed once.

    Scores and choice are those of GridSearchCV over an MKLClassifier with fixed kernels. It is faster because there is
    one bank of kernels, of which the folds are parts, and because every solve begins where a similar one ended: at the
    same C and p in the fold before, or at the neighbour on the grid.

    Nothing leaks from the validation part into what is learned: in each fold the normalization of the kernels is
    fitted on the training part and the validation part is normalized as new data. What kernels themselves read off X
    (gamma="scale") is read once, off all samples, without their labels, so that all folds and the final model compare
    the same kernels; give numbers, or use GridSearchCV, where that is not wanted. Columns that were standardised before
    the search are a part of the data, in a pipeline too.

    Ctrl-C during the search ends it with a KeyboardInterrupt that says so, and nothing is fitted. Ctrl-C during the
    last fit leaves the best solution so far, as everywhere.

    Parameters
    ----------
    kernels : str, kernel or list, default="default"
        As in `MKLClassifier`.
    Cs : int or list of floats, default=10
        Costs of the losses to compare; a number of them spreads them from 0.01 to 1000, evenly by logarithm.
    ps : list of floats, default=(1.0, 2.0)
        Norms of the kernel weights to compare, each >= 1: 1 keeps few kernels, inf is their plain sum.
    cv : int, splitter or list of splits, default=5
        Folds. A number of them is stratified, in the order of the samples, or shuffled where there is a random_state.
    scoring : str, callable or None, default=None
        What is compared, as in scikit-learn; None is the accuracy. Scores count every sample once; samples of weight 0
        are in neither part.
    loss, multiclass, share_weights, solver, tol, max_iter, fit_intercept, normalize, memory, n_jobs, class_weight,
    probability, keep_training_data, callbacks
        As in `MKLClassifier`; class_weight="balanced" counts the training part.
    time_limit : float or None, default=None
        Seconds at most for each of the fits.
    random_state : int, RandomState or None, default=None
        Shuffles the samples before they are dealt out to a number of folds; seeds the folds of `probability=True`.
    verbose : bool or int, default=False
        1: a line per fit; 2: the solver's lines too.

    Attributes
    ----------
    C_, p_ : float
        The best of the grid; of equal ones, the first.
    cv_results_ : dict
        As that of GridSearchCV, one entry per pair of C and p, with the largest certified gap ("max_gap") and the mean
        number of machines ("mean_machines") of the folds.
    best_index_ : int
        Position of the best in `cv_results_`.
    best_score_ : float
        Its mean score.
    n_splits_ : int
        Folds.
    weights_, kernel_names_, kernel_weights_, result_, classes_, support_, dual_coef_, intercept_, ...
        Those of the `MKLClassifier` with the best C and p, on all samples.

    Examples
    --------
    >>> from polykern import MKLClassifierCV, kernels
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MKLClassifierCV(kernels.rbf_grid(widths=[1.0, 4.0]), Cs=[0.01, 1.0], cv=3).fit(X, y)
    >>> model.C_, model.cv_results_["mean_test_score"].shape
    (1.0, (4,))
    """

    _fold_model = _HeldOutClassifier

    def __init__(
        self,
        kernels: Any = "default",
        *,
        Cs: Any = 10,
        ps: Any = (1.0, 2.0),
        cv: Any = 5,
        scoring: Any = None,
        loss: Any = "hinge",
        multiclass: str = "auto",
        share_weights: bool = True,
        solver: Any = "auto",
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
        self.Cs = Cs
        self.ps = ps
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.multiclass = multiclass
        self.share_weights = share_weights
        self.solver = solver
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> MKLClassifierCV:
        """Choose C and p, then learn kernel weights and machine on all samples.

        Parameters
        ----------
        X, y, sample_weight
            As in `MKLClassifier.fit`.
        groups : array-like of shape (n,), default=None
            Groups of samples for splitters that keep them together.
        """
        self._fit_search(X, y, sample_weight, groups)
        return self


class MKLRegressorCV(_SearchMixin, MKLRegressor):
    """`MKLRegressor` that chooses C and the norm p of the kernel weights by cross-validation, kernels computed once.

    What `MKLClassifierCV` says of the search holds here too.

    Parameters
    ----------
    kernels, loss, epsilon, solver, tol, max_iter, fit_intercept, normalize, memory, n_jobs, keep_training_data,
    callbacks
        As in `MKLRegressor`.
    Cs, ps, cv, scoring, time_limit, random_state, verbose
        As in `MKLClassifierCV`; folds are not stratified, and scoring=None is the coefficient of determination.

    Attributes
    ----------
    C_, p_, cv_results_, best_index_, best_score_, n_splits_
        As in `MKLClassifierCV`.
    weights_, kernel_names_, kernel_weights_, result_, support_, dual_coef_, intercept_, ...
        Those of the `MKLRegressor` with the best C and p, on all samples.

    Examples
    --------
    >>> from polykern import MKLRegressorCV, kernels
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = MKLRegressorCV([kernels.Linear(), kernels.RBF()], loss="squared", Cs=[0.01, 1.0], cv=3)
    >>> model.fit(X, y / y.std()).best_score_ > 0.4
    True
    """

    _fold_model = _HeldOutRegressor

    def __init__(
        self,
        kernels: Any = "default",
        *,
        Cs: Any = 10,
        ps: Any = (1.0, 2.0),
        cv: Any = 5,
        scoring: Any = None,
        loss: Any = "epsilon_insensitive",
        epsilon: float = 0.1,
        solver: Any = "auto",
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
        self.Cs = Cs
        self.ps = ps
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.epsilon = epsilon
        self.solver = solver
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> MKLRegressorCV:
        """Choose C and p, then learn kernel weights and machine on all samples.

        Parameters
        ----------
        X, y, sample_weight
            As in `MKLRegressor.fit`.
        groups : array-like of shape (n,), default=None
            Groups of samples for splitters that keep them together.
        """
        self._fit_search(X, y, sample_weight, groups)
        return self
