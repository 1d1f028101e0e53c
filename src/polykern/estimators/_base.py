"""Fitting, written once: validate -> named kernels -> bank -> problem -> solver -> result -> what prediction needs."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from polykern.bank import KernelBank, build_bank
from polykern.bank.callers import users_line
from polykern.estimators._inputs import Samples, new_samples, training_samples
from polykern.estimators._kernels import columns_read, named_kernels, reads_indices, stored_dtype
from polykern.estimators._labels import Targets
from polykern.estimators._parameters import (
    check_callbacks,
    check_choice,
    check_count,
    check_flag,
    check_has_parameters,
    check_positive,
)
from polykern.estimators._pickling import without_matrices
from polykern.estimators._solve import Settings, Start, solve
from polykern.losses import Loss
from polykern.parallel import spans
from polykern.problems.result import MKLResult
from polykern.regularizers import Regularizer, as_regularizer
from polykern.solvers import as_solver

# Numbers in one block of kernel values at prediction: 32 MB.
_BLOCK_NUMBERS = 4_000_000


class BaseMKL(BaseEstimator, metaclass=ABCMeta):
    """What the three estimators share: one fit, one prediction, one summary."""

    # Bounds that every subclass declares as constructor parameters.
    kernels: Any
    regularizer: Any
    solver: Any
    tol: float
    max_iter: int
    time_limit: float | None
    normalize: str | None
    memory: Any
    n_jobs: int | None
    verbose: int | bool
    callbacks: Any
    keep_training_data: bool

    @property
    def kernel_weights_(self) -> dict[str, Any]:
        """Name of the kernel -> its weight; an array with one weight per output where weights are per class."""
        check_is_fitted(self, "weights_")
        return dict(zip(self.kernel_names_, self.weights_.T.tolist(), strict=True))

    def set_params(self, **params: Any) -> Self:
        """Set parameters, nested ones such as regularizer__p too; returns the estimator."""
        for name in params:
            owner, nested, parameter = name.partition("__")
            if nested and owner in signature(type(self)).parameters:
                check_has_parameters(owner, params.get(owner, getattr(self, owner)), parameter)
        return super().set_params(**params)

    def summary(self) -> str:
        """The fitted model as text: data, kernels, problem, solver, certified gap, largest weights, memory plan."""
        from polykern.estimators._summary import summary

        check_is_fitted(self)
        return summary(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_support_reference")

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: precomputed matrices travel with an unfitted model only, which cannot do without them."""
        state = dict(super().__getstate__())
        return {**state, "kernels": without_matrices(self.kernels)} if self.__sklearn_is_fitted__() else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        on_indices = reads_indices(self.kernels)
        tags.input_tags.one_d_array = on_indices
        tags.input_tags.two_d_array = not on_indices
        return tags

    @abstractmethod
    def _resolve_loss(self) -> Loss:
        """The loss of this fit, its parameters checked."""

    # ---- fit
    # ----------------------------------------------------------------------------------------------------------

    def _settings(self) -> Settings:
        """Every constructor argument checked and resolved, before any data is touched."""
        named_kernels(self.kernels)  # a mistake in the list is named before the data are read
        check_flag("keep_training_data", self.keep_training_data)
        time_limit = (
            None if self.time_limit is None else check_positive("time_limit", self.time_limit, " (seconds) or None")
        )
        loss = self._resolve_loss()
        return Settings(
            loss=loss,
            regularizer=self._resolve_regularizer(),
            solver=as_solver(self.solver),
            fit_intercept=self._resolve_intercept(),
            share_weights=bool(getattr(self, "share_weights", True)),
            tol=check_positive("tol", self.tol, ": it is the relative duality gap to stop at"),
            max_iter=check_count("max_iter", self.max_iter, 1),
            time_limit=time_limit,
            callbacks=check_callbacks(self.callbacks),
            verbose=check_count("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0),
        )

    def _resolve_intercept(self) -> bool:
        """fit_intercept="auto" is True: the batch solvers all have a bias."""
        choice = getattr(self, "fit_intercept", True)
        if isinstance(choice, str):
            check_choice("fit_intercept", choice, ("auto",))
            return True
        return check_flag("fit_intercept", choice, "True, False or 'auto'")

    def _resolve_regularizer(self) -> Regularizer:
        return as_regularizer(self.regularizer)

    def _training_samples(self, X: Any) -> Samples:
        self._on_indices = reads_indices(self.kernels)
        return training_samples(
            self, X, on_indices=self._on_indices, read=lambda table: columns_read(self.kernels, table)
        )

    def _build_bank(self, samples: Samples, normalize: str | None) -> KernelBank:
        table = samples.matrix if samples.frame is None else samples.frame
        named = named_kernels(self.kernels, table if len(table.shape) == 2 else 1)
        if samples.frame is not None:
            named = named.on_frame(samples.frame)
        self._columns_read = None if self._on_indices else columns_read(named.kernels, samples.matrix)
        return build_bank(
            named.kernels,
            samples.matrix,
            names=named.names,
            normalize=normalize,
            memory=self.memory,
            dtype=stored_dtype(named.kernels, self.tol),
            n_jobs=self.n_jobs,
        )

    def _learn(
        self, bank: KernelBank, targets: Targets, settings: Settings, rows: np.ndarray, start: Start | None = None
    ) -> None:
        """Solve, keep what prediction needs, warn if the solver did not get there.

        `rows` are the positions of the bank's samples in the user's X.
        """
        result = solve(bank, targets, settings, start)
        self._store(result, bank, settings, rows)
        self._warn_unless_converged(result)

    def _store(self, result: MKLResult, bank: KernelBank, settings: Settings, rows: np.ndarray) -> None:
        coef = np.asarray(result.coef).reshape(bank.n_samples, -1)
        support = np.flatnonzero(coef.any(axis=1))
        single = coef.shape[1] == 1
        scale = self._output_scale(len(coef))
        self.result_ = result
        self.weights_ = np.array(result.weights)
        self.kernel_names_ = tuple(bank.names)
        self.fit_intercept_ = settings.fit_intercept
        self.support_ = rows[support]
        self.dual_coef_ = scale * (coef[support, 0] if single else np.ascontiguousarray(coef[support].T))
        intercept = scale * np.asarray(result.intercept, dtype=np.float64).reshape(-1)
        self.intercept_ = float(intercept[0]) if single else intercept
        self.n_iter_ = result.n_iter
        self.memory_plan_ = bank.explain()
        self._n_samples_fit = bank.n_samples
        self._training_reference = bank.keep(np.arange(bank.n_samples)) if self.keep_training_data else None
        self._support_reference = bank.keep(support)

    def _output_scale(self, n_samples: int) -> float:
        """Factor from the problem's outputs to the model's."""
        return 1.0

    def _warn_unless_converged(self, result: MKLResult) -> None:
        if result.status.converged:
            return
        warnings.warn(
            f"{type(self).__name__} {result.status.value} (gap {result.gap:.2e} after {result.n_iter} iterations, "
            f"tol {self.tol:g}).",
            ConvergenceWarning,
            stacklevel=users_line(),
        )

    # ---- prediction
    # -----------------------------------------------------------------------------------------------------

    def _new_samples(self, X: Any) -> np.ndarray:
        return new_samples(self, X, on_indices=self._on_indices, read=lambda table: self._columns_read)

    def _outputs(self, X: Any) -> np.ndarray:
        """(m, T) outputs of the binary or regression problems, in blocks of samples that keep the memory small."""
        if not self.__sklearn_is_fitted__():  # scikit-learn looks at all tags first, which goes through all kernels
            check_is_fitted(self)
        samples = self._new_samples(X)
        n_support = max(1, len(self.support_))
        blocks = [self._block_outputs(samples[rows]) for rows in spans(len(samples), _BLOCK_NUMBERS // n_support)]
        return np.concatenate(blocks) + np.atleast_1d(self.intercept_)

    def _block_outputs(self, samples: np.ndarray) -> np.ndarray:
        coef = np.atleast_2d(self.dual_coef_)
        if not len(self.support_):
            return np.zeros((len(samples), len(coef)))
        if self.weights_.ndim == 1:
            return np.asarray(self._support_reference.against(samples, self.weights_) @ coef.T, dtype=np.float64)
        pairs = zip(self.weights_, coef, strict=True)
        columns = [self._support_reference.against(samples, weights) @ column for weights, column in pairs]
        return np.column_stack(columns).astype(np.float64)

    def _combined_kernel(self, samples: np.ndarray) -> np.ndarray:
        if self.weights_.ndim == 2:
            raise ValueError(
                "transform gives one combined kernel, and this model has one per class; fit it with share_weights=True."
            )
        if self._training_reference is None:
            raise ValueError("transform needs the training samples: fit again now that keep_training_data is True.")
        return self._training_reference.against(samples, self.weights_)
