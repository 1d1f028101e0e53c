"""Kernels computed once and kept in memory: one (F, n, n) array, normalized."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern._jit import jit
from polykern.bank.indexing import Rows, positions
from polykern.bank.matrices import MatrixStorage
from polykern.bank.shared import SharedStorage
from polykern.bank.storage import Storage
from polykern.bank.terms import Plain
from polykern.parallel import run_blocks, spans

# Rows of a panel while the stack is filled or mirrored: a tile of 256 x 512 stays in the cache of one core.
PANEL_ROWS = 256
# Rows written at once below the diagonal: in a file, each of them costs pages of its own.
MIRRORED_ROWS = 128


class DenseStorage(MatrixStorage):
    """All entries in memory."""

    kind = "dense"
    kernels_at_once = 1 << 16  # filled side by side, so that families share their base

    def __init__(self, stack: NDArray[Any], n_jobs: int | None) -> None:
        super().__init__(stack, slice(0, stack.shape[1]), [Plain()] * len(stack), stack.dtype, n_jobs)
        self.stack = stack

    @property
    def resident_bytes(self) -> int:
        return self.stack.nbytes

    def subset(self, index: Rows) -> SharedStorage:
        return SharedStorage(self.stack, index, [Plain()] * self.n_kernels, self.dtype, self.n_jobs, owner=self)

    def add_combined(self, weights: NDArray[np.float64], rows: Rows, cols: Rows, out: NDArray[Any]) -> None:
        if not isinstance(cols, slice):
            return super().add_combined(weights, rows, cols, out)
        wanted = np.flatnonzero(weights)
        factors = weights[wanted].astype(self.dtype)
        _add_rows(self.stack, wanted, factors, positions(rows), cols.start, out)
        return None

    def fill(self, source: Storage) -> None:
        """K_k of every kernel of `source`: the upper triangles are computed, the lower ones mirrored."""
        panels = spans(self.n_samples, PANEL_ROWS)
        for some in spans(self.n_kernels, self.kernels_at_once):
            chosen = range(self.n_kernels)[some]

            def fill(rows: slice, chosen: range = chosen) -> None:
                for span in spans(self.n_samples - rows.start, 2 * PANEL_ROWS):
                    cols = slice(rows.start + span.start, rows.start + span.stop)
                    source.blocks(rows, cols, [self.stack[k][rows, cols] for k in chosen], chosen)
                    self.release()
                for k in chosen:
                    mirror(self.stack[k], rows, self.release)

            run_blocks(fill, panels, self.n_jobs)


def mirror(matrix: NDArray[Any], rows: slice, done: Callable[[], None] | None = None) -> None:
    """matrix[j, i] = matrix[i, j] for i in rows and j behind them; the square on the diagonal is made symmetric too.

    `done` is called after every few rows written.
    """
    square = matrix[rows, rows]
    below = np.tril_indices(rows.stop - rows.start, -1)
    square[below] = square.T[below]
    for span in spans(len(matrix) - rows.stop, MIRRORED_ROWS):
        cols = slice(rows.stop + span.start, rows.stop + span.stop)
        matrix[cols, rows] = matrix[rows, cols].T
        if done is not None:
            done()


@jit
def _add_rows(stack, wanted, weights, rows, start, out):
    """out += sum_k weights_k stack[wanted_k, rows, start:start + width], four kernels for one pass over out."""
    width = out.shape[1]
    for i in range(rows.size):
        for left in range(0, width, 1024):
            right = min(left + 1024, width)
            target = out[i, left:right]
            k = 0
            while k + 4 <= wanted.size:
                a = stack[wanted[k], rows[i], start + left : start + right]
                b = stack[wanted[k + 1], rows[i], start + left : start + right]
                c = stack[wanted[k + 2], rows[i], start + left : start + right]
                d = stack[wanted[k + 3], rows[i], start + left : start + right]
                wa, wb, wc, wd = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
                for j in range(right - left):
                    target[j] += wa * a[j] + wb * b[j] + wc * c[j] + wd * d[j]
                k += 4
            while k < wanted.size:
                a = stack[wanted[k], rows[i], start + left : start + right]
                wa = weights[k]
                for j in range(right - left):
                    target[j] += wa * a[j]
                k += 1
