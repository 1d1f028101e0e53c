"""Parts of a matrix times vectors, summed up in float64 whatever the type of the entries.

Large coefficients of both signs that sum to zero cancel in a score, and sums in float32 would lose digits there that
the duality gap needs. One or two vectors run in compiled code that widens every entry on its way; more widen a panel
and leave the rest to BLAS, and so do float64 matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern._jit import jit
from polykern.bank.indexing import Rows, block_of, length, part, positions
from polykern.parallel import spans

# Entries of a panel that is widened or gathered: BLAS needs a few hundred rows to be fast with few columns.
PANEL_ENTRIES = 1 << 19
# Columns up to which one compiled pass for each is faster than widening a panel for BLAS.
FEW_COLUMNS = 2


def rows_times(matrix: NDArray[Any], rows: Rows, cols: slice, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """matrix[rows, cols] @ vectors: (r, T)."""
    if matrix.dtype == np.float64 and isinstance(rows, slice):
        return matrix[rows, cols] @ vectors
    out = np.empty((vectors.shape[1], length(rows)))
    if matrix.dtype == np.float32 and len(out) <= FEW_COLUMNS:
        for t, one in enumerate(out):
            _rows_dot(read_only(matrix), positions(rows), cols.start, np.ascontiguousarray(vectors[:, t]), one)
        return out.T
    for span in _panels(rows, cols):
        block = matrix[part(rows, span), cols].astype(np.float64, copy=False)
        np.matmul(vectors.T, block.T, out=out[:, span])
    return out.T


def columns_times(matrix: NDArray[Any], rows: Rows, cols: slice, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """matrix[rows, cols].T @ vectors: (c, T)."""
    out = np.zeros((vectors.shape[1], length(cols)))
    if matrix.dtype == np.float32 and len(out) <= FEW_COLUMNS:
        for t, one in enumerate(out):
            _add_rows(read_only(matrix), positions(rows), cols.start, np.ascontiguousarray(vectors[:, t]), one)
        return out.T
    for span in _panels(rows, cols):
        block = block_of(matrix, part(rows, span), cols)
        out += vectors[span].T @ block.astype(np.float64, copy=False)
    return out.T


def _panels(rows: Rows, cols: slice) -> list[slice]:
    return spans(length(rows), max(1, PANEL_ENTRIES // max(1, length(cols))))


def block_times(block: NDArray[Any], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """block @ vectors: (r, T)."""
    return rows_times(block, slice(0, block.shape[0]), slice(0, block.shape[1]), vectors)


def block_transposed_times(block: NDArray[Any], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """block.T @ vectors: (c, T)."""
    return columns_times(block, slice(0, block.shape[0]), slice(0, block.shape[1]), vectors)


def read_only(matrix: NDArray[Any]) -> NDArray[Any]:
    """A view that nobody may write to: memory-mapped and writable matrices then run the same compiled code."""
    view = np.asarray(matrix).view()
    view.flags.writeable = False
    return view


@jit
def _rows_dot(matrix, rows, start, vector, out):
    """out[r] = matrix[rows_r, start:start + m] . vector, four rows for one pass over the vector."""
    stop = start + vector.size
    r = 0
    while r + 4 <= rows.size:
        a, b = matrix[rows[r], start:stop], matrix[rows[r + 1], start:stop]
        c, d = matrix[rows[r + 2], start:stop], matrix[rows[r + 3], start:stop]
        sa, sb, sc, sd = 0.0, 0.0, 0.0, 0.0
        for j in range(vector.size):
            v = vector[j]
            sa += a[j] * v
            sb += b[j] * v
            sc += c[j] * v
            sd += d[j] * v
        out[r], out[r + 1], out[r + 2], out[r + 3] = sa, sb, sc, sd
        r += 4
    while r < rows.size:
        a = matrix[rows[r], start:stop]
        sa = 0.0
        for j in range(vector.size):
            sa += a[j] * vector[j]
        out[r] = sa
        r += 1


@jit
def _add_rows(matrix, rows, start, factors, out):
    """out += sum_r factors_r * matrix[rows_r, start:start + m], four rows for one pass over out."""
    stop = start + out.size
    r = 0
    while r + 4 <= rows.size:
        a, b = matrix[rows[r], start:stop], matrix[rows[r + 1], start:stop]
        c, d = matrix[rows[r + 2], start:stop], matrix[rows[r + 3], start:stop]
        fa, fb, fc, fd = factors[r], factors[r + 1], factors[r + 2], factors[r + 3]
        for j in range(out.size):
            out[j] += (fa * a[j] + fb * b[j]) + (fc * c[j] + fd * d[j])
        r += 4
    while r < rows.size:
        a = matrix[rows[r], start:stop]
        fa = factors[r]
        for j in range(out.size):
            out[j] += fa * a[j]
        r += 1
