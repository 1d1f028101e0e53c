"""All kernels seen from a few samples: what algorithms that visit sample after sample need of a bank.

Where all matrices lie in memory in one and the same way, compiled code reads their rows where they are. Otherwise the
entries in question are made block by block, as the bank makes them, and read from the block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern._jit import array_at, jit
from polykern.bank.matrices import MatrixStorage
from polykern.parallel import run_blocks, run_compiled, spans, worth_threads

if TYPE_CHECKING:
    from polykern.bank.bank import KernelBank

# Columns of a tile: with some tens of rows of a kernel and as many outputs it stays in the second cache.
TILE_COLUMNS = 2048
# Entries of all kernels that are made at once where they do not lie in memory.
BLOCK_ENTRIES = 1 << 20


class Entries(NamedTuple):
    """Kernels between some samples, for compiled code.

    K_k(i, j) = scales[k] * array_at(addresses[k], store, n_rows, stride)[places[i], places[j]]
    """

    addresses: NDArray[np.int64]
    store: NDArray[Any]  # of the type of the entries; holds them where they belong to nobody else
    n_rows: int
    stride: int
    scales: NDArray[np.float64]
    places: NDArray[np.intp]


class BySample:
    """Rows and small blocks of every kernel of a bank."""

    def __init__(self, bank: KernelBank) -> None:
        self.bank = bank
        self.in_memory = _in_memory(bank)

    def entries(self, idx: ArrayLike) -> Entries:
        """Every kernel between the samples `idx`."""
        places = np.asarray(idx, dtype=np.intp)
        if self.in_memory is not None:
            return self.in_memory._replace(places=places)
        return _of_block(self.bank.blocks(places, places))

    def add_products(self, idx: ArrayLike, changes: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """out[k, t] += K_k[:, idx] @ changes[:, t] for every kernel k and column t; out is (F, T, n)."""
        rows, n = np.asarray(idx, dtype=np.intp), self.bank.n_samples
        if rows.size and not 0 <= rows.min() <= rows.max() < n:
            raise ValueError(f"idx runs from {rows.min()} to {rows.max()}, expected positions from 0 to {n - 1}.")
        expected = (self.bank.n_kernels, changes.shape[1], n)
        if out.shape != expected or out.dtype != np.float64 or len(changes) != len(rows):
            raise ValueError(
                f"changes has shape {changes.shape} and out {out.shape} of {out.dtype}, expected {len(rows)} rows of "
                f"changes and {expected} of float64."
            )
        listed = _by_column(changes)
        work = self.bank.n_kernels * n * len(listed.rows)
        if self.in_memory is not None:
            self._add_in_memory(rows, listed, out, worth_threads(self.bank.n_jobs, work))
        else:
            self._add_blocks(rows, listed, out, worth_threads(self.bank.n_jobs, work))

    def _add_in_memory(self, rows: NDArray[np.intp], listed: _Listed, out: Any, n_jobs: int | None) -> None:
        assert self.in_memory is not None
        entries, n = self.in_memory._replace(places=rows), self.bank.n_samples

        def add(cols: slice) -> None:
            _add_rows(entries, listed, (cols.start, cols.stop), cols.start, out)

        if n_jobs == 1:
            add(slice(0, n))
        else:
            run_compiled(add, spans(n, TILE_COLUMNS * max(1, n // (8 * TILE_COLUMNS))), n_jobs)
        moved = len(rows) * n * self.bank.n_kernels * self.bank.dtype.itemsize
        self.bank.counts.add(0, moved)

    def _add_blocks(self, rows: NDArray[np.intp], listed: _Listed, out: Any, n_jobs: int | None) -> None:
        def add(cols: slice) -> None:
            entries = _of_block(self.bank.blocks(rows, cols))
            _add_rows(entries, listed, (0, cols.stop - cols.start), cols.start, out)

        width = max(64, BLOCK_ENTRIES // max(1, self.bank.n_kernels * len(rows)))
        run_blocks(add, spans(self.bank.n_samples, width), n_jobs)


class _Listed(NamedTuple):
    """The entries of (U, T) changes that are not zero, column by column: starts (T + 1,), rows and factors."""

    starts: NDArray[np.intp]
    rows: NDArray[np.intp]
    factors: NDArray[np.float64]


def _by_column(changes: NDArray[np.float64]) -> _Listed:
    columns, rows = np.nonzero(changes.T)
    starts = np.searchsorted(columns, np.arange(changes.shape[1] + 1)).astype(np.intp)
    return _Listed(starts, rows, changes[rows, columns])


def _of_block(block: NDArray[Any]) -> Entries:
    """A block (F, r, c) of a bank, whose rows and columns are numbered anew."""
    n_kernels, n_rows, n_cols = block.shape
    store = np.ascontiguousarray(block).reshape(-1)
    first = store.__array_interface__["data"][0]
    addresses = first + np.arange(n_kernels, dtype=np.int64) * (n_rows * n_cols * store.itemsize)
    return Entries(addresses, store, n_rows, n_cols, np.ones(n_kernels), np.arange(n_rows))


def _in_memory(bank: KernelBank) -> Entries | None:
    """The whole matrices; None where some are not in memory, or not in the same type and order as the others."""
    addresses = np.zeros(bank._n_distinct, dtype=np.int64)
    scales, found = np.zeros(bank._n_distinct), []
    for storage, places in bank._storages:
        matrices = storage.in_memory if isinstance(storage, MatrixStorage) else None
        if matrices is None:
            return None
        addresses[places], scales[places] = matrices.addresses, storage.scales
        found.append(matrices)
    if len({(one.like.dtype, one.stride) for one in found}) != 1:
        return None
    live = bank._slots >= 0  # a kernel that is zero reads any matrix, times 0
    slots = np.where(live, bank._slots, 0)
    one = found[0]
    return Entries(
        addresses[slots], one.like, bank.n_samples, one.stride, np.where(live, scales[slots], 0.0), np.empty(0, np.intp)
    )


@jit
def _add_rows(entries, listed, span, first, out):
    """out[k, t, first + j] += sum of scale * factor * K_k[row, span[0] + j], four rows for one pass over out."""
    n_outputs = listed.starts.size - 1
    for k in range(entries.addresses.size):
        matrix, scale = array_at(entries.addresses[k], entries.store, entries.n_rows, entries.stride), entries.scales[k]
        for left in range(span[0], span[1], TILE_COLUMNS):
            right = min(left + TILE_COLUMNS, span[1])
            for t in range(n_outputs):
                begin = first + left - span[0]
                target, u, stop = out[k, t, begin : begin + right - left], listed.starts[t], listed.starts[t + 1]
                while u + 4 <= stop:
                    r = listed.rows[u : u + 4]
                    a, b = matrix[entries.places[r[0]], left:right], matrix[entries.places[r[1]], left:right]
                    c, d = matrix[entries.places[r[2]], left:right], matrix[entries.places[r[3]], left:right]
                    fa, fb = scale * listed.factors[u], scale * listed.factors[u + 1]
                    fc, fd = scale * listed.factors[u + 2], scale * listed.factors[u + 3]
                    for j in range(right - left):
                        target[j] += (fa * a[j] + fb * b[j]) + (fc * c[j] + fd * d[j])
                    u += 4
                while u < stop:
                    a, fa = matrix[entries.places[listed.rows[u]], left:right], scale * listed.factors[u]
                    for j in range(right - left):
                        target[j] += fa * a[j]
                    u += 1
