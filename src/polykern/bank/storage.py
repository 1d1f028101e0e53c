"""What every way of keeping kernels has in common.

A storage holds some kernels of a bank, on the same samples. Its kernels are  K_k = scales[k] * (the blocks it yields).
All methods may be called from several threads at once; none starts threads but `combine`, `sweep`, `scores` and
`quad_forms`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from polykern.bank.indexing import Rows, length, part
from polykern.bank.terms import Terms
from polykern.parallel import run_blocks, spans, worth_threads

# Entries of a block that is worked on at once: with its neighbours it stays in the cache of one core (0.5 MB in
# float32).
TILE_ENTRIES = 1 << 17
# Rows of a combined matrix that one thread adds up at a time.
BAND_ROWS = 256


def tile_width(n_rows: int, n_cols: int) -> int:
    """Columns of a tile that has `n_rows` rows."""
    return max(1, min(n_cols, TILE_ENTRIES // max(1, n_rows)))


class Storage(ABC):
    """Some kernels of a bank: blocks, products and weighted sums of them."""

    kind = ""  # the word that `bank.explain()` uses

    def __init__(self, terms: Sequence[Terms], n_samples: int, dtype: DTypeLike, n_jobs: int | None) -> None:
        self.terms = list(terms)
        self.scales = np.array([one.scale for one in terms], dtype=np.float64)
        self.n_kernels = len(self.terms)
        self.n_samples = n_samples
        self.dtype = np.dtype(dtype)
        self.n_jobs = n_jobs

    @property
    def jobs(self) -> int | None:
        """`n_jobs` for one pass over all kernels."""
        return worth_threads(self.n_jobs, self.n_kernels * self.n_samples**2)

    @property
    def resident_bytes(self) -> int:
        """Bytes of memory that this storage itself holds."""
        return 0

    def release(self) -> None:  # noqa: B027 (most storages have nothing to do)
        """Give back memory that a block of work has left behind; called after each, maybe while others still read."""

    @abstractmethod
    def each(self, rows: Rows, cols: Rows, wanted: Sequence[int]) -> Iterator[tuple[int, NDArray[Any]]]:
        """(k, block of kernel k without its scale) for the wanted kernels; read it before the next one is asked for."""

    @abstractmethod
    def scores(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """K_k @ coef for every kernel: (F, n, T) for coef (n, T)."""

    @abstractmethod
    def quad_forms(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """trace(coef' K_k coef) for every kernel: (F,) for coef (n, T)."""

    def combine(self, weights: NDArray[np.float64], combined: NDArray[Any]) -> None:
        """combined += sum_k weights_k K_k on and above the diagonal; kernels of weight 0 are not touched."""

        def add(rows: slice) -> None:
            cols = slice(rows.start, self.n_samples)
            self.add_combined(weights, rows, cols, combined[rows, cols])

        run_blocks(add, spans(self.n_samples, max(1, min(BAND_ROWS, -(-self.n_samples // 8)))), self.jobs)
        self.release()

    def sweep(
        self, weights: NDArray[np.float64], coef: NDArray[np.float64], wanted: NDArray[np.intp], combined: NDArray[Any]
    ) -> NDArray[np.float64]:
        """combined += sum_i weights_i K_k, k = wanted[i], on and above the diagonal; returns their K_k @ coef, (f, n).

        Here in two passes; storages that can make both from one reading of every entry do so.
        """
        mixed = np.zeros(self.n_kernels)
        mixed[wanted] = weights
        self.combine(mixed, combined)
        return self.scores(coef[:, None])[wanted, :, 0]

    def blocks(self, rows: Rows, cols: Rows, out: Sequence[NDArray[Any]], wanted: Sequence[int]) -> None:
        """out[i] = K_k[rows x cols] for every wanted kernel k = wanted[i]."""
        place = {k: i for i, k in enumerate(wanted)}
        for k, block in self.each(rows, cols, wanted):
            target, scale = out[place[k]], self.scales[k]
            if scale == 1.0:
                target[...] = block
            else:  # a factor of the entries' own type: with a wider one numpy would go through a buffer
                np.multiply(block, target.dtype.type(scale), out=target, casting="same_kind")

    def add_combined(self, weights: NDArray[np.float64], rows: Rows, cols: Rows, out: NDArray[Any]) -> None:
        """out += sum_k weights_k K_k[rows x cols]; kernels of weight 0 are not touched."""
        factors = (weights * self.scales).astype(out.dtype)
        wanted = np.flatnonzero(weights).tolist()
        for span in spans(length(cols), tile_width(length(rows), length(cols))):
            term = np.empty((length(rows), span.stop - span.start), dtype=out.dtype)
            for k, block in self.each(rows, part(cols, span), wanted):
                np.multiply(block, factors[k], out=term, casting="same_kind")
                out[:, span] += term
