"""Samples as the kernels read them: a float64 matrix, or the numbers of samples of precomputed kernels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from polykern.bank.callers import users_line
from polykern.kernels.columns import is_frame, select_columns

# Positions of the columns that kernels read of a table; None for all.
ColumnsOf = Callable[[Any], "np.ndarray | None"]


@dataclass(frozen=True)
class Samples:
    """Training samples as a matrix (or indices), and the frame they came in, where they came in one."""

    matrix: np.ndarray
    frame: Any = None

    def __len__(self) -> int:
        return len(self.matrix)

    def take(self, rows: np.ndarray) -> Samples:
        """Some of the samples, all of them without a copy."""
        if len(rows) == len(self):
            return self
        return Samples(self.matrix[rows], None if self.frame is None else _safe_indexing(self.frame, rows))


def training_samples(estimator: Any, X: Any, *, on_indices: bool, read: ColumnsOf, min_samples: int = 2) -> Samples:
    """Validated training samples; remembers the number and the names of the columns on the estimator.

    Columns that no kernel reads may hold anything: `read` is asked which ones count where some hold no numbers.
    """
    if not on_indices:
        matrix = _matrix(estimator, X, read, reset=True, min_samples=min_samples)
        return Samples(matrix, X if is_frame(X) else None)
    indices = sample_indices(X)
    estimator.n_features_in_ = 1
    if len(indices) < min_samples:
        raise ValueError(f"X has n_samples = {len(indices)}, expected at least {min_samples} to learn from.")
    return Samples(indices)


def new_samples(estimator: Any, X: Any, *, on_indices: bool, read: ColumnsOf) -> np.ndarray:
    """Validated samples to predict for: the same columns in the same order as in fit."""
    return sample_indices(X) if on_indices else _matrix(estimator, X, read, reset=False, min_samples=1)


def _matrix(estimator: Any, X: Any, read: ColumnsOf, *, reset: bool, min_samples: int) -> np.ndarray:
    """X as a float64 matrix, finite where it is read; columns are counted, and compared by name where there are any."""
    checks = {"dtype": np.float64, "order": "C", "ensure_all_finite": False, "ensure_min_samples": min_samples}
    if is_frame(X):
        # Frames are read column by column, so that a column of words or dates is named.
        _check_unique_names(list(X.columns))
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        matrix = check_array(_from_frame(X, read), estimator=estimator, **checks)
    else:
        _refuse_text(X)
        matrix = validate_data(estimator, X, reset=reset, **checks)
    _check_finite(matrix, estimator, read)
    return matrix


def _from_frame(frame: Any, read: ColumnsOf) -> np.ndarray:
    """All columns; where one of them holds no numbers, those that are read, and 0 for the others."""
    try:
        return select_columns(frame)
    except ValueError:
        columns = read(frame)
        if columns is None:
            raise
    matrix = np.zeros(frame.shape)
    matrix[:, columns] = select_columns(frame, columns)
    return matrix


def _check_unique_names(names: list[Any]) -> None:
    first: dict[Any, int] = {}
    for position, name in enumerate(names):
        if first.setdefault(name, position) < position:
            raise ValueError(
                f"X has two columns named {name!r} (positions {first[name]} and {position}), expected unique names."
            )


def _refuse_text(X: Any) -> None:
    """Arrays of text, and lists that hold some."""
    if not isinstance(X, np.ndarray | list | tuple):
        return
    found = X.flat[0] if isinstance(X, np.ndarray) and X.size else X
    while isinstance(found, list | tuple) and found:
        found = found[0]
    if isinstance(found, str):
        raise ValueError(
            f"X holds text, {str(found[:20])!r} for one, and kernels on vectors need numbers: encode it, or compute "
            "kernels of your own and give them as kernels.Precomputed(K)."
        )


def sample_indices(X: Any) -> np.ndarray:
    """X as (m,) sample numbers: whole numbers, given as (m,) or (m, 1)."""
    indices = check_array(X, ensure_2d=False, allow_nd=True, dtype=None, input_name="X", ensure_min_samples=0)
    if indices.dtype.kind not in "iu":
        raise TypeError(
            f"X is of type {indices.dtype}, expected whole numbers: with Precomputed kernels X holds sample indices, "
            "such as np.arange(n) or one part of it."
        )
    if indices.ndim == 2 and indices.shape[1] == 1:
        indices = indices[:, 0]
    if indices.ndim != 1:
        raise ValueError(
            f"X is {indices.shape}, expected (n,) or (n, 1): with Precomputed kernels X holds sample indices, such as "
            "np.arange(n); the matrix itself goes into kernels.Precomputed(K)."
        )
    return indices.astype(np.intp)


def sample_weights(sample_weight: Any, n_samples: int) -> np.ndarray:
    """(n,) weights, all 1 where None is given; none negative, not all 0."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights = check_array(as_array(sample_weight), dtype=np.float64, ensure_2d=False, input_name="sample_weight")
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected one number per sample, ({n_samples},).")
    if np.any(weights < 0):
        worst = int(np.argmin(weights))
        raise ValueError(
            f"sample_weight[{worst}] is {weights[worst]:g}, expected no weight below 0; 0 leaves a sample out."
        )
    if not np.any(weights > 0):
        raise ValueError("sample_weight is zero for every sample, expected weights above 0 for those to learn from.")
    return weights


def _check_finite(matrix: np.ndarray, estimator: Any, read: ColumnsOf) -> None:
    finite = np.isfinite(matrix)
    if finite.all():
        return
    columns = read(matrix)
    if columns is not None:
        finite[:, np.setdiff1d(np.arange(matrix.shape[1]), columns)] = True
    if finite.all():
        return
    row, column = (int(place) for place in np.argwhere(~finite)[0])
    names = getattr(estimator, "feature_names_in_", None)
    where = repr(str(names[column])) if names is not None else str(column)
    raise ValueError(
        f"X has {int((~finite).sum())} values that are NaN or inf, the first in row {row}, column {where}; kernels "
        "need finite numbers: drop these rows or impute them (sklearn.impute)."
    )


def one_column(y: Any) -> np.ndarray:
    """Labels or targets as (n,); those in a column (n, 1) are taken with scikit-learn's warning."""
    values = as_array(y)
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(
            f"A column-vector y was passed when a 1d array was expected: y is {values.shape}, expected "
            f"({len(values)},), for example y.ravel().",
            DataConversionWarning,
            stacklevel=users_line(),
        )
    return column_or_1d(values)


def as_array(values: Any) -> np.ndarray:
    """Labels or targets of any container, frames and series included, as an array."""
    return values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
