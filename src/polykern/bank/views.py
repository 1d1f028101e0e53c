"""What kernels read of X: one array per distinct set of columns, shared by all kernels that read the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.kernels.columns import column_names, is_frame, select_columns, take_columns
from polykern.kernels.precomputed import Precomputed, as_indices


def labelled(label: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """function(*arguments); an error that does not say which kernel it is about is made to."""
    try:
        return function(*arguments)
    except (ValueError, TypeError) as error:
        if label in str(error):
            raise
        raise type(error)(f"{label}: {error}") from error


@dataclass(frozen=True)
class Input:
    """What X looked like in training, so that new data can be held against it."""

    n_columns: int | None  # None: a 1-D array of sample numbers
    names: tuple[Any, ...] | None

    @classmethod
    def of(cls, X: Any) -> Input:
        names = column_names(X)
        return cls(X.shape[1] if len(X.shape) == 2 else None, None if names is None else tuple(names))

    def check(self, X: Any) -> Any:
        """New data with the same columns, as a table or an array of numbers."""
        given = as_input(X)
        expected = self.n_columns or 1
        columns = given.shape[1] if len(given.shape) == 2 else 1
        if len(given.shape) == 1 and self.n_columns not in (None, 1):
            raise ValueError(f"X has shape {given.shape}, expected a table (n_samples, {expected}) as in training.")
        if columns != expected:
            raise ValueError(
                f"X has {columns} columns, expected {expected}: those of the training data, in the same order."
            )
        names = column_names(given)
        if names is not None and self.names is not None and tuple(names) != self.names:
            wrong = next(i for i, (new, old) in enumerate(zip(names, self.names, strict=True)) if new != old)
            raise ValueError(
                f"X has the column {names[wrong]!r} at position {wrong}, expected {self.names[wrong]!r}: "
                "the columns of the training data, in the same order."
            )
        if self.n_columns is None and len(given.shape) == 2:
            return given[:, 0] if not is_frame(given) else take_columns(given, [0])
        return given if self.n_columns is None or len(given.shape) == 2 else given[:, None]


def as_input(X: Any) -> Any:
    """A frame as it is, anything else as an array with one or two axes."""
    given = X if is_frame(X) or hasattr(X, "toarray") else np.asarray(X)
    if len(given.shape) not in (1, 2):
        raise ValueError(
            f"X has shape {given.shape}, expected a table (n_samples, n_features) or sample numbers (n_samples,)."
        )
    return given


@dataclass(frozen=True)
class Reader:
    """How one view is read from X: which columns (None: all), and what the kernel makes of them.

    Of a precomputed kernel it knows the number of samples alone, so that it never holds a matrix.
    """

    columns: tuple[int, ...] | None
    kernel: Any = None
    n_indices: int = 0

    @classmethod
    def of(cls, kernel: Any, columns: tuple[int, ...] | None) -> Reader:
        if isinstance(kernel, Precomputed):
            return cls(columns, n_indices=kernel.K.shape[0])
        return cls(columns, kernel)

    def __call__(self, X: Any, label: str) -> NDArray[Any]:
        return labelled(label, self._read, X, label)

    def _read(self, X: Any, label: str) -> NDArray[Any]:
        columns = None if self.columns is None else list(self.columns)
        if self.kernel is None:
            return as_indices(X if columns is None else select_columns(X, columns, label), self.n_indices, label)
        on_numbers = self.kernel.input_kind == "indices" and len(X.shape) == 1
        return self.kernel.read(select_columns(X[:, None] if on_numbers else X, columns, label), label)


class Views:
    """The views of some data, each made once."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.readers: list[Reader] = []
        self.arrays: list[NDArray[Any]] = []
        self._of_indices: dict[
            tuple[Any, int], int
        ] = {}  # views of matrices by columns and size: these have equal ones

    def add(self, kernel: Any, columns: Sequence[int] | None, label: str) -> int:
        """Position of the view that `kernel` reads from these columns."""
        if not isinstance(kernel, Precomputed):
            return self._add(kernel, columns, label)
        key = (None if columns is None else tuple(columns), kernel.K.shape[0])
        if key not in self._of_indices:
            self._of_indices[key] = self._add(kernel, columns, label)
        return self._of_indices[key]

    def _add(self, kernel: Any, columns: Sequence[int] | None, label: str) -> int:
        reader = Reader.of(kernel, self._normal(columns))
        array = reader(self.X, label)
        for i, (known, other) in enumerate(zip(self.readers, self.arrays, strict=True)):
            if _same_view(known, reader) and other.dtype == array.dtype and np.array_equal(other, array):
                return i
        self.readers.append(reader)
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _normal(self, columns: Sequence[int] | None) -> tuple[int, ...] | None:
        """All columns in order are the same as none chosen."""
        if columns is None or list(columns) == list(range(self.X.shape[1])):
            return None
        return tuple(int(c) for c in columns)


def _same_view(known: Reader, other: Reader) -> bool:
    """Same columns, read the same way: the reader checks new data, so kernels that demand more have their own."""
    return (known.columns, _reading(known), known.n_indices) == (
        other.columns,
        _reading(other),
        other.n_indices,
    )


def _reading(reader: Reader) -> Any:
    return None if reader.kernel is None else type(reader.kernel).read
