"""What every estimator with a list of kernels has: samples as the kernels read them, a bank, what is kept of it."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from polykern.bank import KernelBank, build_bank
from polykern.bank.reference import Reference
from polykern.estimators._inputs import Samples, new_samples, training_samples
from polykern.estimators._kernels import NamedKernels, columns_read, named_kernels, reads_indices
from polykern.estimators._parameters import check_has_parameters
from polykern.estimators._pickling import without_matrices
from polykern.kernels import Kernel

# Numbers in one block of kernel values at prediction: 32 MB.
BLOCK_NUMBERS = 4_000_000


class ManyKernels(BaseEstimator, metaclass=ABCMeta):
    """Kernels on the training samples, and the weighted sum of them at new ones."""

    # What every subclass declares as constructor parameters.
    kernels: Any
    normalize: str | None
    memory: Any
    n_jobs: int | None

    # What every fit leaves behind.
    weights_: np.ndarray
    kernel_names_: tuple[str, ...]
    _support_reference: Reference
    _training_reference: Reference | None

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
    def _entry_dtype(self, kernels: tuple[Kernel, ...]) -> np.dtype:
        """Type of the kernel values in the bank."""

    def _terms(self, named: NamedKernels) -> NamedKernels:
        """What the bank is made of: the kernels in the user's list."""
        return named

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
        terms = self._terms(named)
        return build_bank(
            terms.kernels,
            samples.matrix,
            names=terms.names,
            normalize=normalize,
            memory=self.memory,
            dtype=self._entry_dtype(terms.kernels),
            n_jobs=self.n_jobs,
        )

    def _new_samples(self, X: Any) -> np.ndarray:
        return new_samples(self, X, on_indices=self._on_indices, read=lambda table: self._columns_read)

    def _combined_kernel(self, samples: np.ndarray) -> np.ndarray:
        if self.weights_.ndim == 2:
            raise ValueError(
                "transform gives one combined kernel, and this model has one per class; fit it with share_weights=True."
            )
        if self._training_reference is None:
            raise ValueError("transform needs the training samples: fit again now that keep_training_data is True.")
        return self._training_reference.against(samples, self.weights_)
