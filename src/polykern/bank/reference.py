"""What prediction needs of a bank: kernels, kept rows of the data, normalization. No matrices but the user's own.

Kernels on data keep their rows at the kept samples. Where the normalization centres, the mean of a new sample against
ALL training samples is needed, so all rows stay. A precomputed kernel stays where it is, the user's matrix, shared;
only when the reference is pickled are its columns at the kept samples copied, (N, kept), and new samples are then row
numbers of those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern.bank.checks import checked_coef, checked_weights
from polykern.bank.computed import TILE_COLS, TILE_ROWS, Member, families, family_blocks
from polykern.bank.indexing import Rows, block_of, consecutive, length, positions
from polykern.bank.products import block_times, read_only
from polykern.bank.shared import add_gathered
from polykern.bank.stock import Stock
from polykern.bank.terms import has_terms
from polykern.bank.views import Input, Reader
from polykern.kernels.normalizers import Normalization
from polykern.kernels.precomputed import Precomputed
from polykern.parallel import run_blocks, spans


@dataclass(frozen=True)
class KeptMatrix:
    """Columns of a precomputed kernel at the kept samples, for any of its rows."""

    matrix: NDArray[Any]
    kept: Rows  # positions of the kept samples in the matrix
    training: Rows  # positions of all training samples
    centred: bool
    own_diag: NDArray[Any] | None = None  # (N,), once the matrix is only a part
    own_means: NDArray[np.float64] | None = None  # (N,), likewise

    def block(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Entries (rows, kept)."""
        return block_of(self.matrix, consecutive(rows), self.kept)

    def diag(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Entries (row, row)."""
        values = self.matrix[rows, rows] if self.own_diag is None else self.own_diag[rows]
        return np.asarray(values, dtype=np.float64)

    def means(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Mean of each row over the training samples."""
        if self.own_means is not None:
            return self.own_means[rows]
        parts = [
            block_of(self.matrix, rows[span], self.training).mean(axis=1, dtype=np.float64) for span in _row_spans(rows)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def __reduce__(self) -> tuple[Any, ...]:
        """Only the kept columns travel."""
        everything = np.arange(len(self.matrix))
        columns = np.array(self.matrix[:, self.kept])
        means = self.means(everything) if self.centred else None
        here = slice(0, columns.shape[1])
        return type(self), (columns, here, here, self.centred, self.diag(everything), means)


def _row_spans(rows: NDArray[np.intp]) -> list[slice]:
    return spans(rows.size, TILE_ROWS)


@dataclass(frozen=True)
class NewSamples:
    """New data as the kernels read it, and what their normalization needs of it."""

    views: dict[int, NDArray[Any]]
    shifts: dict[int, NDArray[np.float64] | None]
    factors: dict[int, NDArray[np.float64] | None]
    n_samples: int


class Reference:
    """sum_k weights_k K_k(X, kept samples) for new data X. Made by `bank.keep(idx)`."""

    def __init__(
        self,
        names: tuple[str, ...],
        slots: NDArray[np.intp],
        members: Sequence[Member],
        matrices: dict[int, KeptMatrix],
        terms: Sequence[Normalization],
        readers: Sequence[Reader],
        kept: Sequence[NDArray[Any]],
        training: dict[int, NDArray[Any]],
        given: Input,
        n_kept: int,
        dtype: np.dtype[Any],
        n_jobs: int | None,
    ) -> None:
        self.names = names
        self.n_kernels = len(names)
        self.n_kept = n_kept
        self.dtype = dtype
        self.n_jobs = n_jobs
        self._slots = slots
        self._members = list(members)
        self._matrices = matrices
        self._terms = list(terms)
        self._readers = list(readers)
        self._kept = list(kept)
        self._training = training
        self._given = given

    def __repr__(self) -> str:
        return f"Reference({self.n_kernels} kernels, {self.n_kept} samples, {self.dtype})"

    def against(self, X: Any, weights: ArrayLike) -> NDArray[Any]:
        """Combined kernel of new data with the kept samples: (m, kept). Kernels of weight 0 are not touched."""
        given = checked_weights(weights, self.n_kernels)
        live = self._slots >= 0
        mixed = np.bincount(self._slots[live], given[live], minlength=len(self._terms))
        wanted = np.flatnonzero(mixed).tolist()
        new = self._read(X, wanted)
        out = np.zeros((new.n_samples, self.n_kept), dtype=self.dtype)
        plain = [k for k in wanted if k in self._matrices and not has_terms(self._terms[k])]
        gathered = [self._gathered(k, mixed[k], new) for k in plain]
        others = sorted(set(wanted) - set(plain))

        def fill(rows: slice) -> None:
            for matrix, weight, index, cols in gathered:
                add_gathered(matrix, weight, index[rows], cols, out[rows])
            for span in spans(self.n_kept, TILE_COLS) if others else ():
                for k, block in self._each(new, rows, span, others):
                    block *= block.dtype.type(mixed[k])
                    out[rows, span] += block

        run_blocks(fill, spans(new.n_samples, TILE_ROWS), self.n_jobs)
        return out

    def scores(self, X: Any, coef: ArrayLike) -> NDArray[np.float64]:
        """K_k(X, kept samples) @ coef for every k: (F, m) for coef (kept,), (F, m, T) for coef (kept, T); float64."""
        given = checked_coef(coef, self.n_kept)
        columns = given if given.ndim == 2 else given[:, None]
        wanted = list(range(len(self._terms)))
        new = self._read(X, wanted)
        distinct = np.zeros((len(wanted), new.n_samples, columns.shape[1]))

        def fill(rows: slice) -> None:
            for cols in spans(self.n_kept, TILE_COLS):
                for k, block in self._each(new, rows, cols, wanted):
                    distinct[k, rows] += block_times(block, columns[cols])

        run_blocks(fill, spans(new.n_samples, TILE_ROWS), self.n_jobs)
        out = np.zeros((self.n_kernels, *distinct.shape[1:]))
        live = np.flatnonzero(self._slots >= 0)
        out[live] = distinct[self._slots[live]]
        return out.reshape(self.n_kernels, new.n_samples, *given.shape[1:])

    def _gathered(self, k: int, weight: float, new: NewSamples) -> tuple[NDArray[Any], float, NDArray[Any], Any]:
        """A matrix that is only scaled, its weight, and which rows and columns of it are wanted."""
        one = self._matrices[k]
        return (
            read_only(one.matrix),
            weight * self._terms[k].scale,
            new.views[self._members[k].view],
            positions(one.kept),
        )

    # ---- new data --------------------------------------------------------------------------------------------------

    def _read(self, X: Any, wanted: Sequence[int]) -> NewSamples:
        table = self._given.check(X)
        views: dict[int, NDArray[Any]] = {}
        for k in wanted:
            view = self._members[k].view
            if view not in views:
                views[view] = self._readers[view](table, self._members[k].name)
        shifts = self._means(views, [k for k in wanted if self._terms[k].shift is not None])
        factors = {}
        for k in wanted:
            diag = self._diag(k, views[self._members[k].view]) if self._terms[k].factor is not None else None
            shifts[k], factors[k] = self._terms[k].new_terms(diag, shifts.get(k))
        return NewSamples(views, shifts, factors, int(table.shape[0]))

    def _diag(self, k: int, view: NDArray[Any]) -> NDArray[np.float64]:
        if k in self._matrices:
            return self._matrices[k].diag(view)
        return np.asarray(self._members[k].kernel.diag(view), dtype=np.float64)

    def _means(self, views: dict[int, NDArray[Any]], wanted: Sequence[int]) -> dict[int, Any]:
        """Mean of each new sample against all training samples, for kernels that are centred."""
        means: dict[int, Any] = {
            k: self._matrices[k].means(views[self._members[k].view]) for k in wanted if k in self._matrices
        }
        for chosen in self._families([k for k in wanted if k not in self._matrices]):
            view = self._members[chosen[0]].view
            sums = self._sums(chosen, views[view], self._training[view])
            means |= {k: sums[k] / len(self._training[view]) for k in chosen}
        return means

    def _sums(self, chosen: Sequence[int], new: NDArray[Any], old: NDArray[Any]) -> dict[int, NDArray[np.float64]]:
        """Sums of every row of K_k(new, old), for kernels of one family."""
        sums = {k: np.zeros(len(new)) for k in chosen}

        def fill(rows: slice) -> None:
            for cols in spans(len(old), TILE_COLS):
                for k, block in family_blocks(self._members, chosen, new[rows], old[cols], self.dtype):
                    sums[k][rows] += block.sum(axis=1, dtype=np.float64)

        run_blocks(fill, spans(len(new), TILE_ROWS), self.n_jobs)
        return sums

    def _families(self, wanted: Sequence[int]) -> list[list[int]]:
        if not wanted:
            return []
        asked = set(wanted)
        chosen = [[k for k in family if k in asked] for family in families(self._members)]
        return [family for family in chosen if family]

    def _each(
        self, new: NewSamples, rows: slice, cols: slice, wanted: Sequence[int]
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """(k, normalized block) of kernel k between new samples and kept ones; it may be written to."""
        for k in wanted:
            if k in self._matrices:
                matrix = self._matrices[k]
                block = np.array(matrix.block(new.views[self._members[k].view][rows])[:, cols], dtype=self.dtype)
                yield k, self._normalized(k, block, new, rows, cols)
        for chosen in self._families([k for k in wanted if k not in self._matrices]):
            view = self._members[chosen[0]].view
            left, right = new.views[view][rows], self._kept[view][cols]
            for k, block in family_blocks(self._members, chosen, left, right, self.dtype):
                yield k, self._normalized(k, block, new, rows, cols)

    def _normalized(self, k: int, block: NDArray[Any], new: NewSamples, rows: slice, cols: slice) -> NDArray[Any]:
        terms, shift, factor = self._terms[k], new.shifts[k], new.factors[k]
        return terms.apply_new(
            block, None if shift is None else shift[rows], None if factor is None else factor[rows], cols
        )


def keep(stock: Stock, slots: NDArray[np.intp], index: Rows) -> Reference:
    """The reference of some samples of a bank."""
    given = {k: one for k, one in enumerate(stock.members) if isinstance(one.kernel, Precomputed)}
    kept = {view: consecutive(stock.views[view][index]) for view in {one.view for one in given.values()}}
    training = {view: consecutive(stock.training[view]) for view in kept}
    matrices = {
        k: KeptMatrix(one.kernel.K, kept[one.view], training[one.view], stock.terms[k].shift is not None)
        for k, one in given.items()
    }
    members = [Member(one.name, _NO_KERNEL, one.view) if k in given else one for k, one in enumerate(stock.members)]
    on_data = {one.view for k, one in enumerate(stock.members) if k not in matrices}
    centred = {
        one.view for k, one in enumerate(stock.members) if k not in matrices and stock.terms[k].shift is not None
    }
    return Reference(
        names=stock.names,
        slots=slots,
        members=members,
        matrices=matrices,
        terms=[terms.take(index) for terms in stock.terms],
        readers=stock.readers,
        kept=[np.array(view[index]) if v in on_data else view[:0] for v, view in enumerate(stock.views)],
        training={v: stock.training[v] for v in sorted(centred)},
        given=stock.given,
        n_kept=length(index),
        dtype=stock.dtype,
        n_jobs=stock.n_jobs,
    )


class _MatrixInstead:
    """Stands where a precomputed kernel was: it shares no base with any other."""

    base = None


_NO_KERNEL = _MatrixInstead()
