"""Which samples: every operator takes a slice (a view, no copy) or an array of positions (a gather)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = slice | NDArray[np.intp]


def as_rows(rows: Any, n_samples: int, label: str = "rows") -> Rows:
    """Positions in range(n_samples), as a slice where they are consecutive."""
    if isinstance(rows, slice):
        start, stop, step = rows.indices(n_samples)
        return slice(start, max(start, stop)) if step == 1 else np.arange(start, stop, step)
    index = np.asarray(rows)
    if index.dtype == bool:
        raise TypeError(f"{label} is a boolean mask, expected sample positions; pass numpy.flatnonzero(mask).")
    if index.ndim != 1 or (index.size and not np.issubdtype(index.dtype, np.integer)):
        raise TypeError(
            f"{label} has shape {index.shape} and dtype {index.dtype}, expected a 1-D array of whole numbers."
        )
    if index.size and (index.min() < 0 or index.max() >= n_samples):
        raise ValueError(
            f"{label} runs from {index.min()} to {index.max()}, expected positions from 0 to {n_samples - 1}."
        )
    return consecutive(index.astype(np.intp, copy=False))


def consecutive(index: NDArray[np.intp]) -> Rows:
    """The same positions, as a slice where each is the one before plus 1."""
    if index.size and index[-1] - index[0] == index.size - 1 and np.all(np.diff(index) == 1):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


def positions(rows: Rows) -> NDArray[np.intp]:
    """The positions themselves, one by one."""
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def length(rows: Rows) -> int:
    """How many samples."""
    return rows.stop - rows.start if isinstance(rows, slice) else rows.size


def same_rows(rows: Rows, cols: Rows) -> bool:
    """Whether both name the same samples in the same order."""
    if isinstance(rows, slice) or isinstance(cols, slice):
        return isinstance(rows, slice) and isinstance(cols, slice) and rows == cols
    return rows is cols or np.array_equal(rows, cols)


def part(rows: Rows, span: slice) -> Rows:
    """`rows[span]`: some of the samples, counted from the first of them."""
    return slice(rows.start + span.start, rows.start + span.stop) if isinstance(rows, slice) else rows[span]


def compose(outer: Rows, inner: Rows) -> Rows:
    """`outer[inner]`: positions of positions."""
    if isinstance(inner, slice):
        return part(outer, inner)
    return consecutive(inner + outer.start if isinstance(outer, slice) else outer[inner])


def block_of(matrix: NDArray[Any], rows: Rows, cols: Rows) -> NDArray[Any]:
    """`matrix[rows x cols]`: a view where both are slices, otherwise a copy."""
    if isinstance(rows, slice) or isinstance(cols, slice):
        return matrix[rows, cols]
    return matrix[rows].take(cols, axis=1)
