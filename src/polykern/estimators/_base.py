"""Fitting, written once: validate -> named kernels -> bank -> problem -> solver -> result -> what prediction needs."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from polykern.bank import KernelBank
from polykern.bank.callers import users_line
from polykern.estimators._kernels import named_kernels, stored_dtype
from polykern.estimators._labels import Targets
from polykern.estimators._many_kernels import BLOCK_NUMBERS, ManyKernels
from polykern.estimators._parameters import (
    check_callbacks,
    check_choice,
    check_count,
    check_flag,
    check_positive,
)
from polykern.estimators._solve import Settings, Start, solve
from polykern.kernels import Kernel
from polykern.losses import Loss
from polykern.parallel import spans
from polykern.problems.result import MKLResult
from polykern.regularizers import MixedNorm, Regularizer, as_regularizer
from polykern.solvers import Solver, as_solver


class BaseMKL(ManyKernels):
    """What the three estimators share: one fit, one prediction, one summary."""

    # Bounds that every subclass declares as constructor parameters.
    regularizer: Any
    solver: Any
    tol: float
    max_iter: int
    time_limit: float | None
    verbose: int | bool
    callbacks: Any
    keep_training_data: bool

    def summary(self) -> str:
        """The fitted model as text: data, kernels, problem, solver, certified gap, largest weights, memory plan."""
        from polykern.estimators._summary import summary

        check_is_fitted(self)
        return summary(self)

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
        loss, solver, regularizer = self._resolve_loss(), as_solver(self.solver), self._resolve_regularizer()
        return Settings(
            loss=loss,
            regularizer=regularizer,
            solver=solver,
            fit_intercept=self._resolve_intercept(loss, solver, regularizer),
            share_weights=bool(getattr(self, "share_weights", True)),
            tol=check_positive("tol", self.tol, ": it is the relative duality gap to stop at"),
            max_iter=check_count("max_iter", self.max_iter, 1),
            time_limit=time_limit,
            callbacks=check_callbacks(self.callbacks),
            verbose=check_count("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0),
        )

    def _resolve_intercept(self, loss: Loss, solver: Solver, regularizer: Regularizer) -> bool:
        """fit_intercept="auto" is True where the papers' problem has a bias."""
        choice = getattr(self, "fit_intercept", True)
        if isinstance(choice, str):
            check_choice("fit_intercept", choice, ("auto",))
            return solver.requires.bias and not loss.joint and not isinstance(regularizer, MixedNorm)
        flag = check_flag("fit_intercept", choice, "True, False or 'auto'")
        if flag and loss.joint:
            raise ValueError(
                "fit_intercept is True, and the hinge of all classes together has no bias, as in the papers; leave it "
                "'auto', or take multiclass='ovr'."
            )
        return flag

    def _resolve_regularizer(self) -> Regularizer:
        return as_regularizer(self.regularizer)

    def _entry_dtype(self, kernels: tuple[Kernel, ...]) -> np.dtype:
        return stored_dtype(kernels, self.tol)

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
        if not np.any(result.weights) and isinstance(self.regularizer, MixedNorm):
            warnings.warn(
                f"all kernel weights of {type(self).__name__} are 0: the price l1={self.regularizer.l1:g} of MixedNorm "
                "is more than any kernel is worth, and predictions are constant. Take a smaller l1.",
                UserWarning,
                stacklevel=users_line(),
            )
        if result.status.as_asked:
            return
        warnings.warn(
            f"{type(self).__name__} {result.status.value} (gap {result.gap:.2e} after {result.n_iter} iterations, "
            f"tol {self.tol:g}).",
            ConvergenceWarning,
            stacklevel=users_line(),
        )

    # ---- prediction
    # -----------------------------------------------------------------------------------------------------

    def _outputs(self, X: Any) -> np.ndarray:
        """(m, T) outputs of the binary or regression problems, in blocks of samples that keep the memory small."""
        if not self.__sklearn_is_fitted__():  # scikit-learn looks at all tags first, which goes through all kernels
            check_is_fitted(self)
        samples = self._new_samples(X)
        n_support = max(1, len(self.support_))
        blocks = [self._block_outputs(samples[rows]) for rows in spans(len(samples), BLOCK_NUMBERS // n_support)]
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
