"""What users have, brought to one form: matrices, a bank, or kernels on data; labels of any kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern.bank import KernelBank, build_bank
from polykern.bank.products import rows_times
from polykern.kernels import Kernel, OnColumns, as_kernel, check_matrix, default_kernels, rbf_grid

Array = NDArray[np.float64]


class Matrices:
    """Kernel matrices as they are given, with what measures ask of a bank: no normalization, nothing is left out."""

    n_jobs: int | None = None

    def __init__(self, matrices: Sequence[NDArray[Any]], names: Sequence[str]) -> None:
        self.matrices, self.names = list(matrices), tuple(names)
        self.n_kernels, self.n_samples = len(self.matrices), len(self.matrices[0])
        self.dtype = np.result_type(*self.matrices)
        self.null = np.zeros(self.n_kernels, dtype=bool)

    @classmethod
    def of(cls, matrices: Iterable[Any], names: Sequence[str]) -> Matrices:
        """Checked: square, of one size, finite, symmetric, positive semidefinite; whole numbers become float64."""
        checked: list[NDArray[Any]] = []
        for K, name in zip(matrices, names, strict=True):
            matrix = np.asarray(K)
            if matrix.dtype.kind not in "fiub":
                raise TypeError(f"{name} is of type {matrix.dtype}, expected a matrix of numbers.")
            matrix = matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)
            check_matrix(matrix, name)
            if checked and matrix.shape != checked[0].shape:
                raise ValueError(
                    f"{name} is {matrix.shape}, expected {checked[0].shape} like {names[0]}: all are kernels on the "
                    "same samples."
                )
            checked.append(matrix)
        return cls(checked, names)

    def blocks(self, rows: Any, cols: Any) -> NDArray[Any]:
        """(F, r, c) entries, a copy."""
        at = (rows, cols) if isinstance(rows, slice) or isinstance(cols, slice) else np.ix_(rows, cols)
        return np.array([K[at] for K in self.matrices], dtype=self.dtype)

    def scores(self, coef: ArrayLike) -> Array:
        """K_k @ coef for every k, float64: (F, n) or (F, n, T)."""
        given = np.asarray(coef, dtype=np.float64)
        columns = given if given.ndim == 2 else given[:, None]
        whole = slice(0, self.n_samples)
        out = np.array([rows_times(K, whole, whole, columns) for K in self.matrices])
        return out.reshape(self.n_kernels, *given.shape)

    def quad_forms(self, coef: ArrayLike) -> Array:
        """trace(coef' K_k coef) for every k."""
        given = np.asarray(coef, dtype=np.float64)
        return np.array([np.vdot(given, one) for one in self.scores(given)])

    def diag(self, weights: ArrayLike) -> Array:
        """(n,) diagonal of the weighted sum."""
        return np.asarray(weights) @ np.array([np.diagonal(K) for K in self.matrices], dtype=np.float64)

    def combine(self, weights: ArrayLike) -> NDArray[Any]:
        """sum_k weights_k K_k; a matrix as it is where it has the only weight, and that is 1."""
        given = np.asarray(weights, dtype=np.float64)
        used = np.flatnonzero(given)
        if len(used) == 1 and given[used[0]] == 1.0:
            return self.matrices[used[0]]
        total = np.zeros((self.n_samples, self.n_samples), dtype=self.dtype)
        for k in used:
            total += self.dtype.type(given[k]) * self.matrices[k]
        return total


@dataclass(frozen=True)
class Given:
    """Kernels, and whether the user gave one, so that the answer is one number."""

    kernels: KernelBank  # or Matrices: all that is asked here, they answer
    single: bool

    def answer(self, values: Array) -> Any:
        """(F,) values as they are, or the only one as a float."""
        return float(values[0]) if self.single and values.ndim == 1 else values[0] if self.single else values


def given_kernels(K: Any, weights: ArrayLike | None = None) -> Given:
    """(n, n) matrix, (F, n, n) stack, list or dict of matrices, (name, matrix) pairs, or bank; with weights, the one
    kernel that they mix.
    """
    if isinstance(K, KernelBank):
        kernels, single = K, False
    else:
        single, matrices, names = _matrices_of(K)
        checked = Matrices.of(matrices, names)
        kernels = cast(KernelBank, checked)
    if weights is None:
        return Given(kernels, single)
    return Given(mixed(kernels, checked_mixture(weights, kernels.n_kernels)), True)


def mixed(kernels: KernelBank, weights: Array) -> KernelBank:
    """The one kernel sum_k weights_k K_k."""
    return cast(KernelBank, Matrices([kernels.combine(weights)], ["combination"]))


def single_kernel(kernels: KernelBank, k: int) -> NDArray[Any]:
    """Matrix of kernel k."""
    return kernels.combine((np.arange(kernels.n_kernels) == k).astype(np.float64))


def checked_mixture(weights: ArrayLike, n_kernels: int) -> Array:
    """(F,) weights, not negative."""
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (n_kernels,):
        raise ValueError(f"weights has shape {given.shape}, expected ({n_kernels},): one number per kernel.")
    if not np.all(np.isfinite(given) & (given >= 0.0)):
        raise ValueError(f"weights holds {given[~(np.isfinite(given) & (given >= 0.0))][0]:g}, expected numbers >= 0.")
    return given


def _matrices_of(K: Any) -> tuple[bool, list[Any], list[str]]:
    """Whether K is one matrix, the matrices, and their names."""
    if isinstance(K, np.ndarray) and K.ndim != 3:
        return True, [K], ["K"]
    if not isinstance(K, Iterable) or isinstance(K, str | bytes):
        raise TypeError(f"K is {K!r}, expected a square kernel matrix, a list of them, or a KernelBank.")
    named = isinstance(K, Mapping)
    listed = list(K.items()) if isinstance(K, Mapping) else list(K)
    if not listed:
        raise ValueError("K is an empty list, expected at least one kernel matrix.")
    if named or all(_is_named_matrix(item) for item in listed):
        names = [str(name) for name, _ in listed]
        listed = [matrix for _, matrix in listed]
    else:
        names = [f"kernel {k}" for k in range(len(listed))]
    for k, item in enumerate(listed):
        if isinstance(item, Kernel | str | tuple):
            raise TypeError(
                f"kernel {k} is {item!r}, which needs data: measures.table(kernels, y, X=X) takes kernels, all other "
                "measures take matrices or polykern.bank.build_bank(kernels, X)."
            )
    if all(np.ndim(row) == 1 for row in listed):
        return True, [np.asarray(listed)], ["K"]
    return False, listed, names


def _is_named_matrix(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], np.ndarray)


# ---- kernels on data


def bank_on(kernels: Any, X: Any, normalize: str | None = "mean-diagonal", names: Any = None) -> KernelBank:
    """The bank of kernels as they are written for the estimators: names, kernels, (name, kernel[, columns])."""
    items = [kernels] if isinstance(kernels, str | Kernel) or callable(kernels) else list(kernels)
    entries: list[tuple[Any, ...]] = []
    for item in items:
        if isinstance(item, str) and item in ("default", "rbf-grid"):
            entries += default_kernels(X) if item == "default" else rbf_grid()
        else:
            entries.append(item if isinstance(item, tuple) else (None, item))
    made = [_on_columns(as_kernel(entry[1]), entry[2] if len(entry) > 2 else None) for entry in entries]
    if names is None and any(entry[0] is not None for entry in entries):
        names = [f"kernel {k}" if entry[0] is None else entry[0] for k, entry in enumerate(entries)]
    return build_bank(made, X, names=names, normalize=normalize)


def _on_columns(kernel: Kernel, columns: Any) -> Kernel:
    return kernel if columns is None else OnColumns(kernel, columns)


# ---- labels


def classes_of(y: Any, n_samples: int) -> NDArray[np.intp]:
    """(n,) classes 0 .. c - 1 from labels of any kind, two different ones at least."""
    labels = _one_per_sample(y, n_samples)
    if labels.dtype.kind == "f" and np.any(labels != np.round(labels)):
        raise ValueError("y holds real numbers, expected labels of classes: this measure is about classes.")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes.tolist()[0]!r}, expected at least two.")
    return codes.astype(np.intp)


def targets_of(y: Any, n_samples: int) -> NDArray[Any]:
    """Classes 0 .. c - 1, or real targets (float64) where y holds numbers that are not whole."""
    values = _one_per_sample(y, n_samples)
    if values.dtype.kind == "f" and np.any(values != np.round(values)):
        return values.astype(np.float64)
    return classes_of(values, n_samples)


def _one_per_sample(y: Any, n_samples: int) -> NDArray[Any]:
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_samples,):
        raise ValueError(f"y has shape {values.shape}, expected one label per sample, ({n_samples},).")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"y is {values[~np.isfinite(values)][0]} for a sample, expected a label for each of them.")
    return values
