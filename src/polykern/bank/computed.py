"""Kernels computed when they are asked for, block by block.

Kernels of one family (the same columns, the same base matrix) share the base of every block: twelve RBF widths cost
one block of distances. Kernels are symmetric, so a product over all samples computes the upper triangle alone and
uses every block twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from polykern.bank.indexing import Rows, consecutive, part, same_rows
from polykern.bank.products import block_times, block_transposed_times
from polykern.bank.storage import Storage
from polykern.bank.terms import Terms, apply_terms, has_terms
from polykern.kernels.pairwise import base_block
from polykern.parallel import run_blocks, spans

TILE_ROWS = 256
TILE_COLS = 512
# Threads add into arrays of their own, (F, n, T) each. Their number depends on the size alone, never on n_jobs, so that
# the sums are made in the same order on any machine.
MOST_SHARES = 8
SHARE_BYTES = 1 << 26


@dataclass(frozen=True)
class Member:
    """One kernel and which of the views it reads."""

    name: str
    kernel: Any
    view: int


class ComputedStorage(Storage):
    """Nothing is kept but the data."""

    kind = "on the fly"

    def __init__(
        self,
        members: Sequence[Member],
        views: Sequence[NDArray[Any]],
        terms: Sequence[Terms],
        dtype: DTypeLike,
        n_jobs: int | None,
    ) -> None:
        super().__init__(terms, len(views[members[0].view]), dtype, n_jobs)
        self.members = list(members)
        self.views = views
        self.families = families(members)

    def each(self, rows: Rows, cols: Rows, wanted: Sequence[int]) -> Iterator[tuple[int, NDArray[Any]]]:
        asked = set(wanted)
        for family in self.families:
            chosen = [k for k in family if k in asked]
            if chosen:
                view = self.views[self.members[chosen[0]].view]
                left = view[rows]
                # The same object twice says that the diagonal is in the block, and distances are exactly zero there.
                right = left if same_rows(rows, cols) else view[cols]
                for k, block in family_blocks(self.members, chosen, left, right, self.dtype):
                    terms = self.terms[k]
                    yield k, apply_terms(block, terms, rows, cols) if has_terms(terms) else block

    def scores(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        support = np.flatnonzero(coef.any(axis=1))
        by_support = 2 * support.size < self.n_samples
        return self._scores_by_support(coef, support) if by_support else self._scores_by_triangle(coef)

    def _scores_by_support(self, coef: NDArray[np.float64], support: NDArray[np.intp]) -> NDArray[np.float64]:
        """All rows, but only the columns of the support: cheaper than the triangle below half of the samples."""
        out = np.zeros((self.n_kernels, *coef.shape))

        def fill(rows: slice) -> None:
            for span in spans(support.size, TILE_COLS):
                for k, block in self.each(rows, support[span], range(self.n_kernels)):
                    out[k, rows] += block_times(block, coef[support[span]])

        run_blocks(fill, spans(self.n_samples, TILE_ROWS), self.jobs)
        return self.scales[:, None, None] * out

    def _scores_by_triangle(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        tiles = upper_tiles(self.n_samples)
        n_shares = min(len(tiles), number_of_shares(8 * self.n_kernels * coef.size))

        def share(first: int) -> NDArray[np.float64]:
            out = np.zeros((self.n_kernels, *coef.shape))
            for rows, cols in tiles[first::n_shares]:
                for k, block in self.each(rows, cols, range(self.n_kernels)):
                    out[k, rows] += block_times(block, coef[cols])
                    if cols != rows:
                        out[k, cols] += block_transposed_times(block, coef[rows])
            return out

        return self.scales[:, None, None] * sum(run_blocks(share, range(n_shares), self.jobs))

    def sweep(
        self, weights: NDArray[np.float64], coef: NDArray[np.float64], wanted: NDArray[np.intp], combined: NDArray[Any]
    ) -> NDArray[np.float64]:
        factors = dict(zip(wanted.tolist(), weights * self.scales[wanted], strict=True))
        row_of = {k: i for i, k in enumerate(wanted.tolist())}
        tiles, column = upper_tiles(self.n_samples), coef[:, None]
        n_shares = min(len(tiles), number_of_shares(8 * len(wanted) * coef.size))

        def share(first: int) -> NDArray[np.float64]:
            out = np.zeros((len(wanted), *column.shape))
            for rows, cols in tiles[first::n_shares]:
                for k, block in self.each(rows, cols, wanted.tolist()):
                    out[row_of[k], rows] += block_times(block, column[cols])
                    if cols != rows:
                        out[row_of[k], cols] += block_transposed_times(block, column[rows])
                    if factors[k]:
                        combined[rows, cols] += combined.dtype.type(factors[k]) * block
            return out

        products = np.sum(run_blocks(share, range(n_shares), self.jobs), axis=0)
        return np.asarray(self.scales[wanted, None] * products[:, :, 0])

    def quad_forms(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        support = np.flatnonzero(coef.any(axis=1))
        here = consecutive(support)
        active = coef[support]

        def form(tile: tuple[slice, slice]) -> NDArray[np.float64]:
            rows, cols = tile
            out = np.zeros(self.n_kernels)
            for k, block in self.each(part(here, rows), part(here, cols), range(self.n_kernels)):
                product = np.vdot(active[rows], block_times(block, active[cols]))
                out[k] = product if cols == rows else 2.0 * product
            return out

        forms = run_blocks(form, upper_tiles(support.size), self.jobs)
        return self.scales * sum(forms, start=np.zeros(self.n_kernels))


def number_of_shares(bytes_each: int) -> int:
    """Arrays of partial sums that are made side by side: at least two, so that two threads have work."""
    return max(2, min(MOST_SHARES, SHARE_BYTES // max(1, bytes_each)))


def families(members: Sequence[Member]) -> list[list[int]]:
    """Positions of the kernels that share the base of their blocks; kernels without a base stand alone."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for k, member in enumerate(members):
        base = member.kernel.base
        found.setdefault((member.view, base) if base else (member.view, None, k), []).append(k)
    return list(found.values())


def family_blocks(
    members: Sequence[Member], chosen: Sequence[int], X: NDArray[Any], Z: NDArray[Any], dtype: np.dtype[Any]
) -> Iterator[tuple[int, NDArray[Any]]]:
    """(k, K_k(X, Z)) for kernels of one family; a block may be written to, and is overwritten by the next."""
    base = members[chosen[0]].kernel.base
    if base is None:
        yield chosen[0], whole_gram(members[chosen[0]], X, Z, dtype)
        return
    shared = base_block(base, X, Z, dtype)
    own = np.empty_like(shared) if len(chosen) > 1 else shared
    for k in chosen:
        out = shared if k == chosen[-1] else own
        members[k].kernel.from_base(shared, out)
        yield k, out


def whole_gram(member: Member, X: NDArray[Any], Z: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """K(X, Z) of a kernel that has no base, as an array of our own; its shape is checked."""
    block = np.asarray(member.kernel.block(X, Z, dtype), dtype=dtype)
    if block.shape != (len(X), len(Z)):
        raise ValueError(f"{member.name} gave a matrix {block.shape}, expected {(len(X), len(Z))}.")
    return block


def upper_tiles(n_samples: int) -> list[tuple[slice, slice]]:
    """Tiles on and above the diagonal: a square on the diagonal has rows == cols, all others count twice."""
    tiles = []
    for rows in spans(n_samples, TILE_ROWS):
        tiles.append((rows, rows))
        behind = spans(n_samples - rows.stop, TILE_COLS)
        tiles += [(rows, slice(rows.stop + span.start, rows.stop + span.stop)) for span in behind]
    return tiles
