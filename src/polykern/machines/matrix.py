"""The combined matrix K = sum_k weights_k K_k as a machine reads it: whole where it fits, otherwise row by row.

Sums are taken in float64 whatever the type of the entries, so that a float32 matrix is an exact problem of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern._jit import jit
from polykern.parallel import n_threads, run_blocks, spans

if TYPE_CHECKING:
    from polykern.bank import KernelBank

Array = NDArray[np.float64]
AnyArray = NDArray[Any]

_ROWS_AT_ONCE = 128  # rows in flight where the matrix is not kept: bounds the memory beside the cache
_WORTH_THREADS = 8_000_000  # entries read below which starting threads costs more than it saves


@jit
def _add_rows(matrix, rows, factors, start, stop, total):
    """total[start:stop] += sum_r factors_r * matrix[rows_r, start:stop], four rows per pass."""
    n = rows.shape[0]
    width = stop - start
    segment = total[start:stop]
    for r in range(0, n - 3, 4):
        first, second = matrix[rows[r], start:stop], matrix[rows[r + 1], start:stop]
        third, fourth = matrix[rows[r + 2], start:stop], matrix[rows[r + 3], start:stop]
        a, b, c, d = factors[r], factors[r + 1], factors[r + 2], factors[r + 3]
        for k in range(width):
            segment[k] += (a * first[k] + b * second[k]) + (c * third[k] + d * fourth[k])
    for r in range(n - n % 4, n):
        row = matrix[rows[r], start:stop]
        a = factors[r]
        for k in range(width):
            segment[k] += a * row[k]


@jit
def _gather(matrix, rows, columns, out):
    """out = matrix[rows][:, columns]."""
    for r in range(rows.shape[0]):
        row = matrix[rows[r]]
        for k in range(columns.shape[0]):
            out[r, k] = row[columns[k]]


def add_rows(matrix: AnyArray, rows: NDArray[np.intp], factors: Array, total: Array) -> None:
    """total += factors @ matrix[rows], in float64, in place; on all cores where it is long."""
    width = matrix.shape[1]
    if len(rows) * width < _WORTH_THREADS:
        _add_rows(matrix, rows, factors, 0, width, total)
        return
    pieces = spans(width, -(-width // n_threads()))
    run_blocks(lambda piece: _add_rows(matrix, rows, factors, piece.start, piece.stop, total), pieces)


class CombinedMatrix:
    """K = sum_k weights_k K_k (n, n): symmetric, positive semidefinite, float32 or float64.

    Parameters
    ----------
    bank : KernelBank
    weights : (F,) array
        Weights of the kernels, not negative; kernels of weight 0 cost nothing.
    double : bool
        Sum float32 kernels up in float64, where a matrix of that type fits.
    out : (n, n) array, optional
        Memory of an earlier matrix that nobody needs any more: fresh memory costs as much as two kernels.
    """

    def __init__(self, bank: KernelBank, weights: ArrayLike, double: bool = False, out: AnyArray | None = None) -> None:
        fixed = np.array(weights, dtype=np.float64)
        self.n_samples: int = bank.n_samples
        self.dtype = np.dtype(bank.dtype)
        self.dense: AnyArray | None = None
        if bank.fits_combined:
            self.dtype = np.dtype(np.float64) if double and bank.fits_combined_double else self.dtype
            fitting = out is not None and out.dtype == self.dtype
            self._keep(bank.combine(fixed, out=out if fitting else None, dtype=self.dtype))
            return
        self._diagonal = np.asarray(bank.diag(fixed), dtype=np.float64)
        self._source: Callable[[NDArray[np.intp]], AnyArray] = lambda idx: bank.rows(idx, fixed)
        self._cache = _row_cache(bank.row_cache_bytes)
        cached = bank.row_cache_bytes // (self.n_samples * self.dtype.itemsize)
        self.row_capacity = min(self.n_samples, max(cached, _ROWS_AT_ONCE))

    @classmethod
    def from_array(cls, array: AnyArray) -> CombinedMatrix:
        """A matrix that is already there; kept, not copied, where it is contiguous."""
        if array.ndim != 2 or array.shape[0] != array.shape[1]:
            raise ValueError(f"array has shape {array.shape}, expected a square kernel matrix (n, n).")
        if array.dtype not in (np.float32, np.float64):
            raise TypeError(f"array is of type {array.dtype}, expected float32 or float64; convert it with astype.")
        matrix = cls.__new__(cls)
        matrix.n_samples, matrix.dtype = len(array), array.dtype
        matrix._keep(array)
        return matrix

    def _keep(self, dense: AnyArray) -> None:
        self.dense = np.ascontiguousarray(dense.T if dense.flags.f_contiguous else dense)
        self.row_capacity = self.n_samples

    def diag(self) -> Array:
        """(n,) diagonal."""
        return self._diagonal if self.dense is None else np.diagonal(self.dense).astype(np.float64)

    def rows(self, idx: NDArray[np.intp]) -> AnyArray:
        """(len(idx), n) rows of K; from the cache where it has them."""
        if self.dense is not None:
            return self.dense[idx]
        cached = [self._cache.get(int(i)) for i in idx]
        missing = np.array([r for r, row in enumerate(cached) if row is None], dtype=np.intp)
        out = np.empty((len(idx), self.n_samples), dtype=self.dtype)
        for r, row in enumerate(cached):
            if row is not None:
                out[r] = row
        if len(missing):
            out[missing] = self._source(idx[missing])
            for r in missing:
                self._cache.put(int(idx[r]), out[r])
        return out

    def block(self, idx: NDArray[np.intp]) -> AnyArray:
        """(m, m) entries of K at `idx`, a copy."""
        out = np.empty((len(idx), len(idx)), dtype=self.dtype)
        if self.dense is not None:
            _gather(self.dense, idx, idx, out)
            return out
        for piece in spans(len(idx), _ROWS_AT_ONCE):
            out[piece] = self.rows(idx[piece])[:, idx]
        return out

    def add_product(self, idx: NDArray[np.intp], factors: Array, total: Array) -> None:
        """total += K[:, idx] @ factors, in place."""
        if self.dense is not None:
            add_rows(self.dense, idx, factors, total)
            return
        for piece in spans(len(idx), _ROWS_AT_ONCE):
            rows = self.rows(idx[piece])
            add_rows(rows, np.arange(len(rows)), factors[piece], total)

    def add_products(self, idx: NDArray[np.intp], factors: Array, total: Array) -> None:
        """total += K[:, idx] @ factors, (n, c), in place: matrix products on a few rows at a time, in float64."""
        for piece in spans(len(idx), 2 * _ROWS_AT_ONCE):
            total += self.rows(idx[piece]).T.astype(np.float64) @ factors[piece]

    def matvec(self, coef: Array) -> Array:
        """K @ coef; reads only the rows where coef is not zero."""
        support = np.flatnonzero(coef)
        if self.dense is not None and self.dtype == np.float64 and 2 * len(support) > self.n_samples:
            return self.dense @ coef
        total = np.zeros(self.n_samples)
        self.add_product(support, np.ascontiguousarray(coef[support]), total)
        return total


def _row_cache(max_bytes: int) -> Any:
    from polykern.bank.cache import RowCache

    return RowCache(max_bytes)
