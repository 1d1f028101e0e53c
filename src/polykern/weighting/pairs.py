"""Pairs of samples as points whose coordinates are the kernels: z_ij = (K_1(x_i, x_j), .., K_F(x_i, x_j)).

The label of a pair is +1 for two samples of one class (a sample with itself included) and -1 for others. Kernels are
symmetric, so (i, j) and (j, i) are one point that counts twice. Pairs are read tile by tile of the upper triangle, by
several threads, and kept where they fit; only a bounded number of them is in memory at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.parallel import run_blocks, spans, worth_threads

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Result = TypeVar("Result")

_TILE_NUMBERS = 1 << 21  # of all kernels
_HELD_NUMBERS = 1 << 25  # of all kernels: so many entries stay in memory between passes


class Chunk(NamedTuple):
    """Some pairs: their points (F, p), labels +1 / -1 and weights (p,)."""

    points: NDArray[Any]
    labels: Array
    weights: Array


class _Tile(NamedTuple):
    """A rectangle of the upper triangle, and which of the pairs drawn fall into it."""

    number: int
    rows: slice
    cols: slice
    same: int
    different: int


class Pairs:
    """The pairs of some samples of a bank, all of them or a random choice.

    Parameters
    ----------
    bank : KernelBank
    y : (n,) array of int
        Classes of the samples of the bank.
    balanced : bool
        Pairs of one class weigh as much together, 1/2, as pairs of two; otherwise all pairs weigh the same. The sum of
        all weights is 1.
    n_draws : int, optional
        How many pairs (i, j) with i <= j of each label are drawn at random, at most; None for all pairs.
    seed : int
        Of the draw.
    samples : (m,) array of int, optional
        Positions of the samples in the bank, for pairs of these alone.
    """

    def __init__(
        self,
        bank: KernelBank,
        y: Indices,
        *,
        balanced: bool = True,
        n_draws: int | None = None,
        seed: int = 0,
        samples: Indices | None = None,
    ) -> None:
        self.bank, self.samples, self.seed = bank, samples, seed
        self.y = y if samples is None else y[samples]
        self.n_kernels = bank.n_kernels
        self._tiles = self._drawn_tiles(n_draws)
        same, different = np.sum([self._multiplicities(tile) for tile in self._tiles], axis=0)
        total = same + different
        self._of_same = 0.5 / same if balanced and same and different else 1.0 / total
        self._of_different = 0.5 / different if balanced and same and different else 1.0 / total
        self.n_points = sum(tile.same + tile.different for tile in self._tiles)
        self._held: list[Chunk] | None = None

    @property
    def fits(self) -> bool:
        """Whether all points stay in memory after the first pass."""
        return self.n_points * self.n_kernels <= _HELD_NUMBERS

    def each(self, function: Callable[[Chunk], Result]) -> list[Result]:
        """`function` of every chunk, in order, several at a time."""
        jobs = worth_threads(self.bank.n_jobs, self.n_points * self.n_kernels)
        if not self.fits:
            return run_blocks(lambda tile: function(self._chunk(tile)), self._tiles, jobs)
        if self._held is None:
            self._held = run_blocks(self._chunk, self._tiles, jobs)
        return run_blocks(function, self._held, jobs)

    # -- which pairs -----------------------------------------------------------------------------------------

    def _drawn_tiles(self, n_draws: int | None) -> list[_Tile]:
        """Tiles of the upper triangle with the number of pairs to take of each: shares of what they have."""
        side = max(1, isqrt(_TILE_NUMBERS // max(1, self.n_kernels)))
        bands = spans(len(self.y), side)
        sides = [(rows, cols) for i, rows in enumerate(bands) for cols in bands[i:]]
        counts = np.array([self._counts(rows, cols) for rows, cols in sides])
        if n_draws is not None:
            totals = np.cumsum(counts, axis=0)
            taken = np.minimum(n_draws, totals[-1])
            counts = np.diff(totals * taken // np.maximum(totals[-1], 1), axis=0, prepend=0)
        tiles = [
            _Tile(number, *both, int(same), int(different))
            for number, (both, (same, different)) in enumerate(zip(sides, counts, strict=True))
        ]
        return [tile for tile in tiles if tile.same or tile.different]

    def _counts(self, rows: slice, cols: slice) -> tuple[int, int]:
        same = self._same_class(rows, cols)
        if rows != cols:
            n_same = int(np.count_nonzero(same))
            return n_same, same.size - n_same
        n_same = (int(np.count_nonzero(same)) + len(same)) // 2
        return n_same, len(same) * (len(same) + 1) // 2 - n_same

    def _same_class(self, rows: slice, cols: slice) -> NDArray[np.bool_]:
        return self.y[rows, np.newaxis] == self.y[cols]

    def _choice(self, tile: _Tile) -> tuple[Indices, NDArray[np.bool_], Array]:
        """Positions within the tile, whether of one class, and how often each pair counts."""
        same = self._same_class(tile.rows, tile.cols)
        upper = np.ones(same.shape, dtype=bool) if tile.rows != tile.cols else np.triu(np.ones(same.shape, dtype=bool))
        random = np.random.default_rng([self.seed, tile.number])
        chosen = []
        for wanted, mask in ((tile.same, same & upper), (tile.different, ~same & upper)):
            found = np.flatnonzero(mask)
            chosen.append(found if wanted == len(found) else random.choice(found, wanted, replace=False))
        where = np.sort(np.concatenate(chosen))
        counted = np.full(len(where), 2.0)
        if tile.rows == tile.cols:
            counted[where % (same.shape[1] + 1) == 0] = 1.0  # the diagonal
        return where, same.ravel()[where], counted

    def _multiplicities(self, tile: _Tile) -> tuple[float, float]:
        _, same, counted = self._choice(tile)
        return float(counted[same].sum()), float(counted[~same].sum())

    # -- their points ----------------------------------------------------------------------------------------

    def _chunk(self, tile: _Tile) -> Chunk:
        where, same, counted = self._choice(tile)
        rows, cols = tile.rows, tile.cols
        if self.samples is None:
            block = self.bank.blocks(rows, cols)
        else:
            block = self.bank.blocks(self.samples[rows], self.samples[cols])
        points = block.reshape(self.n_kernels, -1)
        weights = counted * np.where(same, self._of_same, self._of_different)
        return Chunk(points if len(where) == points.shape[1] else points[:, where], np.where(same, 1.0, -1.0), weights)
