"""Frobenius products of kernels with each other and with a target, of centred kernels, in one pass over the bank.

    Kc_k = H K_k H,  H = I - 1 1' / n               no centred matrix is ever made: with the row means m_k = K_k 1 / n
    <Kc_k, Kc_l> = <K_k, K_l> - 2 n m_k . m_l + n^2 mean(m_k) mean(m_l)

Every kernel is first shifted by about its mean, which centring takes away again: the three terms then cancel little,
and sums of float32 entries keep their digits. Blocks of the upper triangles are laid out as (F, entries), so that all
F (F + 1) / 2 products of a block are one symmetric product of BLAS; sums over blocks are float64.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.parallel import run_blocks, spans, worth_threads

Array = NDArray[np.float64]

# Bytes of a block of all kernels, which stays in the cache between the steps, and the rows of it: enough for kernels
# that are computed on the way, few enough for the triangle's edge.
_BLOCK_BYTES = 1 << 21
_BLOCK_ROWS = 32
# Sums that are made side by side: their number never depends on that of the threads, so that neither does the result.
_SHARES = 8


def row_means(bank: KernelBank) -> Array:
    """(F, n) mean of every row of every kernel."""
    return bank.scores(np.full(bank.n_samples, 1.0 / bank.n_samples))


def centred_products(bank: KernelBank, means: Array) -> Array:
    """(F, F) matrix of <Kc_k, Kc_l>; `means` are the `row_means`."""
    shifts = means.mean(axis=1).astype(bank.dtype)
    products = _sum_over_blocks(bank, shifts, _gram_of_rows)
    rows = means - shifts[:, None].astype(np.float64)
    totals = rows.mean(axis=1)
    n = bank.n_samples
    return products - 2.0 * n * (rows @ rows.T) + n**2 * np.outer(totals, totals)


def centred_norms(bank: KernelBank, means: Array) -> Array:
    """(F,) Frobenius norms |Kc_k|; `means` are the `row_means`."""
    shifts = means.mean(axis=1).astype(bank.dtype)
    squares = _sum_over_blocks(bank, shifts, _squares_of_rows)
    rows = means - shifts[:, None].astype(np.float64)
    n = bank.n_samples
    centred = squares - 2.0 * n * np.square(rows).sum(axis=1) + (n * rows.mean(axis=1)) ** 2
    return np.sqrt(np.maximum(centred, 0.0))


def norms(bank: KernelBank) -> Array:
    """(F,) Frobenius norms |K_k|."""
    shifts = np.zeros(bank.n_kernels, dtype=bank.dtype)
    return np.sqrt(_sum_over_blocks(bank, shifts, _squares_of_rows))


def _gram_of_rows(block: NDArray[np.floating]) -> NDArray[np.floating]:
    return block @ block.T


def _squares_of_rows(block: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.vecdot(block, block)


def _sum_over_blocks(
    bank: KernelBank, shifts: NDArray[np.floating], of: Callable[[NDArray[np.floating]], NDArray[np.floating]]
) -> Array:
    """The sum of of(block) over all entries of the shifted kernels; a block is (F, entries)."""
    tiles = _upper_tiles(bank.n_samples, max(1, _BLOCK_BYTES // (bank.dtype.itemsize * bank.n_kernels)))

    def share(first: int) -> Array | float:
        total: Array | float = 0.0
        for rows, cols in tiles[first::_SHARES]:
            block = bank.blocks(rows, cols).reshape(bank.n_kernels, -1)
            block -= shifts[:, None]
            part = of(block).astype(np.float64)
            total = total + (part if rows == cols else 2.0 * part)
        return total

    work = bank.n_kernels * bank.n_samples**2
    shares = range(min(_SHARES, len(tiles)))
    return np.asarray(sum(run_blocks(share, shares, worth_threads(bank.n_jobs, work))))


def _upper_tiles(n_samples: int, entries: int) -> list[tuple[slice, slice]]:
    """Tiles on and above the diagonal, of about `entries` each: squares on it have rows == cols, others count twice."""
    height = max(1, min(_BLOCK_ROWS, isqrt(entries)))
    tiles = []
    for rows in spans(n_samples, height):
        behind = spans(n_samples - rows.stop, entries // height)
        tiles += [(rows, rows), *((rows, slice(rows.stop + one.start, rows.stop + one.stop)) for one in behind)]
    return tiles
