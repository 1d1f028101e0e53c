"""Kernels given as matrices: X holds sample numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from polykern.kernels.base import Kernel
from polykern.kernels.columns import is_frame


class Precomputed(Kernel):
    """A kernel given by its matrix K; samples are row numbers of K.

    k(i, j) = K[i, j]. X is (n,) or (n, 1) with whole numbers from 0 to len(K) - 1, so that cross-validation and
    pipelines work on indices. K is kept as it is, never copied and never written to, where it is a float32 or float64
    array (also memory-mapped); anything else is converted to float64. `sklearn.base.clone` shares the matrix.
    """

    input_kind = "indices"

    def __init__(self, K: Any) -> None:
        self.K = K

    @property
    def K(self) -> np.ndarray:
        """The matrix, not copied."""
        return self._matrix

    @K.setter
    def K(self, K: Any) -> None:
        self._matrix = _as_matrix(K)

    def __sklearn_clone__(self) -> Precomputed:
        return type(self)(self._matrix)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        n, m = self._matrix.shape
        return f"Precomputed(K=<({n}, {m}) {self._matrix.dtype}>)"

    def read(self, X: Any, label: str = "X") -> np.ndarray:
        """X as sample numbers (n,) into the rows of K."""
        return as_indices(X, self._matrix.shape[0], label)

    def gram(self, X: Any, Z: Any = None) -> np.ndarray:
        """Matrix K[X, Z], a copy in the type of K."""
        return self.block(X, X if Z is None else Z, self._matrix.dtype)

    def block(self, X: Any, Z: Any, dtype: Any = np.float64) -> np.ndarray:
        rows = as_indices(X, self._matrix.shape[0], "X")
        cols = as_indices(Z, self._matrix.shape[1], "Z")
        gathered = _gather(self._matrix, rows, cols)
        return np.array(gathered, dtype=dtype, subok=False, copy=True if gathered.base is not None else None)

    def diag(self, X: Any) -> np.ndarray:
        indices = as_indices(X, min(self._matrix.shape), "X")
        return np.array(self._matrix[indices, indices], dtype=np.float64, subok=False)

    def entry_cost(self, n_features: int) -> float:
        return 1.0


def as_indices(X: Any, size: int, label: str = "X") -> np.ndarray:
    """Sample numbers (n,) from (n,) or (n, 1); whole floats are accepted, because estimators pass arrays on."""
    given = np.asarray(X)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1:
        raise ValueError(
            f"{label} has shape {given.shape}, expected sample numbers (n,) or (n, 1) for a precomputed kernel, not "
            f"{_guess(X)}."
        )
    indices = _whole(given, label)
    if indices.size and not (indices.min() >= 0 and indices.max() < size):
        wrong = indices[(indices < 0) | (indices >= size)][0]
        raise ValueError(
            f"{label} holds the index {wrong}, outside a precomputed kernel of {size} samples: expected 0 to "
            f"{size - 1}."
        )
    return indices


def _guess(X: Any) -> str:
    return "a table of features" if is_frame(X) or np.ndim(X) == 2 else "this"


def _whole(values: np.ndarray, label: str) -> np.ndarray:
    if values.dtype.kind in "iu":
        return values.astype(np.intp, copy=False)
    if values.size == 0:
        return np.empty(0, dtype=np.intp)
    if values.dtype.kind == "O" and all(isinstance(value, (int, float, np.number)) for value in values):
        values = values.astype(np.float64)
    if values.dtype.kind != "f":
        raise TypeError(f"{label} has type {values.dtype}, expected whole sample numbers for a precomputed kernel.")
    fractional = ~(np.floor(values) == values) | np.isinf(values)
    if fractional.any():
        raise ValueError(
            f"{label} holds {values[fractional][0]}, expected whole sample numbers for a precomputed kernel."
        )
    return values.astype(np.intp)


def _gather(matrix: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """matrix[rows][:, cols], reading consecutive numbers as slices: several times faster, and no temporary."""
    row_range, col_range = _as_range(rows), _as_range(cols)
    if row_range is not None:
        return matrix[row_range, col_range] if col_range is not None else matrix[row_range, cols]
    if col_range is not None:
        return matrix[rows, col_range]
    return matrix[rows[:, None], cols]


def _as_range(indices: np.ndarray) -> slice | None:
    if indices.size == 0 or indices[-1] - indices[0] + 1 != indices.size or not np.all(np.diff(indices) == 1):
        return None
    return slice(int(indices[0]), int(indices[-1]) + 1)


def _as_matrix(K: Any) -> np.ndarray:
    if hasattr(K, "toarray"):
        raise TypeError("K is a sparse matrix, expected a dense one: pass K.toarray().")
    plain = K if type(K) in (np.ndarray, np.memmap) else np.asarray(K)
    if plain.ndim != 2:
        raise ValueError(f"K has shape {plain.shape}, expected a matrix (n, n) of kernel values.")
    if plain.dtype in (np.float32, np.float64):
        return plain
    if plain.dtype.kind not in "biuf":
        raise TypeError(f"K has entries of type {plain.dtype}, expected real numbers.")
    return plain.astype(np.float64)
