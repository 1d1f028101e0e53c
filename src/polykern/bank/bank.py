"""Many kernels on the training samples as one operator: all that a solver sees of kernels and data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from polykern.bank.checks import checked_coef, checked_dtype, checked_out, checked_weights
from polykern.bank.indexing import Rows, as_rows, length, part
from polykern.bank.storage import Storage
from polykern.bank.sweep import mirror_upper
from polykern.bank.tally import Tally
from polykern.kernels.normalizers import normalizer
from polykern.parallel import run_blocks, spans, worth_threads

if TYPE_CHECKING:
    from polykern.bank.plan import Plan
    from polykern.bank.reference import Reference
    from polykern.bank.stock import Stock

PANEL_ROWS = 256


class KernelBank:
    """K_1 .. K_F on n samples, normalized. Made by `build_bank`; weights are always an argument.

    `slots[k]` is where kernel k is found among the distinct kernels that the storages hold: duplicates have one slot,
    and a kernel that is zero everywhere has slot -1 and is stored nowhere.
    """

    def __init__(
        self, stock: Stock, slots: NDArray[np.intp], storages: Sequence[tuple[Storage, NDArray[np.intp]]], plan: Plan
    ):
        self._stock = stock
        self._slots = slots
        self._storages = list(storages)
        self._plan = plan
        self._live = np.flatnonzero(slots >= 0)
        self.names: tuple[str, ...] = stock.names
        self.n_kernels = len(self.names)
        self.n_samples: int = stock.n_samples
        self.dtype: np.dtype[Any] = stock.dtype
        self.n_jobs = stock.n_jobs
        self.counts = Tally()

    def __repr__(self) -> str:
        return f"KernelBank({self.n_kernels} kernels, {self.n_samples} samples, {self.dtype})"

    # ---- what fits -------------------------------------------------------------------------------------------------

    @property
    def fits_combined(self) -> bool:
        """Whether the budget allows one dense (n, n) matrix."""
        return self._plan.fits_combined

    @property
    def fits_combined_double(self) -> bool:
        """Whether the budget allows one dense (n, n) matrix of float64 whatever the type of the kernels."""
        more = 8 * self.n_samples**2 - self._plan.sizes.matrix
        return self.fits_combined and more <= self._plan.spare

    @property
    def row_cache_bytes(self) -> int:
        """What rows of the combined matrix may use, where the matrix itself does not fit."""
        return self._plan.spare + (self._plan.sizes.matrix if self.fits_combined else 0)

    @property
    def null(self) -> NDArray[np.bool_]:
        """(F,) kernels that are zero everywhere (or constant): whatever their weight, they contribute nothing."""
        return self._slots < 0

    def explain(self) -> str:
        """Where each kernel is kept and why, as a table."""
        return self._stock.explain(self._plan, self._slots)

    # ---- entries ---------------------------------------------------------------------------------------------------

    def blocks(self, rows: Any, cols: Any) -> NDArray[Any]:
        """Entries of every kernel: (F, r, c)."""
        some, others = as_rows(rows, self.n_samples, "rows"), as_rows(cols, self.n_samples, "cols")
        distinct = np.empty((self._n_distinct, length(some), length(others)), dtype=self.dtype)
        for storage, places in self._storages:
            storage.blocks(some, others, [distinct[place] for place in places], range(len(places)))
        self._finish(0, self._n_distinct * length(some) * length(others))
        return self._spread(distinct)

    def rows(self, idx: Any, weights: ArrayLike) -> NDArray[Any]:
        """Rows of the combined kernel sum_k weights_k K_k: (len(idx), n)."""
        some = as_rows(idx, self.n_samples, "idx")
        mixed = self._mixed(weights)
        out = np.zeros((length(some), self.n_samples), dtype=self.dtype)
        work = int(np.count_nonzero(mixed)) * out.size

        def fill(span: slice) -> None:
            self._add_combined(mixed, part(some, span), slice(0, self.n_samples), out[span])

        height = max(1, min(PANEL_ROWS, -(-length(some) // 8)))
        run_blocks(fill, spans(length(some), height), worth_threads(self.n_jobs, work))
        self._finish(0, work)
        return out

    def diag(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Diagonal of the combined kernel: (n,), float64."""
        return self._mixed(weights) @ self._stock.diagonals

    def combine(
        self, weights: ArrayLike, out: NDArray[Any] | None = None, dtype: DTypeLike | None = None
    ) -> NDArray[Any]:
        """The combined kernel sum_k weights_k K_k: (n, n); kernels of weight 0 are not touched.

        The upper triangle is summed up and mirrored, so the result is exactly symmetric. It is of the type of the
        kernels, unless `dtype` asks for float64: no rounding of the sums then, for the last digits of a solution.
        """
        self._require_room()
        mixed = self._mixed(weights)
        result = checked_out(out, self.n_samples, self.dtype if dtype is None else checked_dtype(dtype))
        result[...] = 0
        for storage, places in self._storages:
            storage.combine(mixed[places], result)
        finite = mirror_upper(result, self.n_jobs)
        n_used = int(np.count_nonzero(mixed))
        self._finish(n_used, n_used * self.n_samples**2)
        if not finite:
            self.check_finite(weights)
        return result

    def sweep(
        self, weights: ArrayLike, coef: ArrayLike, *, kernels: ArrayLike | None = None, out: NDArray[Any] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """combine(weights) and scores(coef) in one pass over the kernels: (n, n) and (F, n).

        With `kernels`, positions of some of them, the others are not touched, as if their weights were 0, and there is
        one row of scores for each that is named. Every entry is read, or computed, once for both.
        """
        self._require_room()
        given = checked_coef(coef, self.n_samples)
        if given.ndim != 1:
            raise ValueError(f"coef has shape {given.shape}, expected one column, ({self.n_samples},).")
        asked, wanted = self._asked(kernels)
        mixed = np.where(wanted, self._mixed(weights), 0.0)
        combined = checked_out(out, self.n_samples, self.dtype)
        combined[...] = 0
        row_of = np.full(self._n_distinct + 1, -1)  # the last one is for kernels that are zero, whose slot is -1
        parts, n_found = [np.zeros((1, self.n_samples))], 1
        for storage, places in self._storages:
            inside = np.flatnonzero(wanted[places])
            if inside.size:
                parts.append(storage.sweep(mixed[places[inside]], given, inside, combined))
                row_of[places[inside]] = np.arange(n_found, n_found + inside.size)
                n_found += inside.size
        mirror_upper(combined, self.n_jobs)
        self._finish(int(asked.size + np.count_nonzero(mixed)), (n_found - 1) * self.n_samples**2)
        if not all(np.isfinite(part.sum()) for part in parts):
            self.check_finite()
        return combined, _rows_of(parts, np.maximum(row_of[self._slots[asked]], 0))

    # ---- products --------------------------------------------------------------------------------------------------

    def scores(self, coef: ArrayLike) -> NDArray[np.float64]:
        """K_k @ coef for every k: (F, n) for coef (n,), (F, n, T) for coef (n, T); float64."""
        given = checked_coef(coef, self.n_samples)
        columns = given if given.ndim == 2 else given[:, None]
        distinct = np.empty((self._n_distinct, *columns.shape))
        for storage, places in self._storages:
            distinct[places] = storage.scores(columns)
        self._finish(self.n_kernels * columns.shape[1], self._n_distinct * self.n_samples**2)
        if not np.isfinite(distinct).all():
            self.check_finite()
        return self._spread(distinct).reshape(self.n_kernels, *given.shape)

    def quad_forms(self, coef: ArrayLike) -> NDArray[np.float64]:
        """trace(coef' K_k coef) for every k: (F,), float64, over the rows where coef is not zero."""
        given = checked_coef(coef, self.n_samples)
        columns = given if given.ndim == 2 else given[:, None]
        distinct = np.empty(self._n_distinct)
        for storage, places in self._storages:
            distinct[places] = storage.quad_forms(columns)
        support = int(np.count_nonzero(columns.any(axis=1)))
        self._finish(self.n_kernels * columns.shape[1], self._n_distinct * support**2)
        if not np.isfinite(distinct).all():
            self.check_finite()
        return self._spread(distinct)

    # ---- other samples ---------------------------------------------------------------------------------------------

    def subset(self, idx: Any) -> KernelBank:
        """The same kernels, with the same parameters and the same normalization, on some of the samples."""
        from polykern.bank.build import subset_bank

        return subset_bank(self, as_rows(idx, self.n_samples, "idx"))

    def refitted(self, normalize: str | None, idx: Any) -> KernelBank:
        """The same kernels on the same samples, normalized with what is read off the samples `idx` alone.

        The others are treated as new data are: for training and validation parts of one bank, which must have been
        built with normalize=None. No matrix is copied.
        """
        from polykern.bank.refit import refitted_bank

        return refitted_bank(self, normalizer(normalize), as_rows(idx, self.n_samples, "idx"))

    def keep(self, idx: Any) -> Reference:
        """What prediction needs of the samples `idx`: kernels, their rows of X and normalization; no matrices."""
        from polykern.bank.reference import keep

        return keep(self._stock, self._slots, as_rows(idx, self.n_samples, "idx"))

    # ---- checks ----------------------------------------------------------------------------------------------------

    def check_finite(self, weights: ArrayLike | None = None) -> None:
        """Raise a ValueError that names the first kernel (of weight not 0) and entry that is NaN or infinite."""
        mixed = np.ones(self._n_distinct) if weights is None else self._mixed(weights)
        for storage, places in self._storages:
            wanted = np.flatnonzero(mixed[places]).tolist()
            for rows in spans(self.n_samples, PANEL_ROWS):
                for k, block in storage.each(rows, slice(0, self.n_samples), wanted):
                    if not np.isfinite(block).all():
                        self._refuse(int(places[k]), rows.start, block)

    def _refuse(self, slot: int, first_row: int, block: NDArray[Any]) -> None:
        row, column = np.argwhere(~np.isfinite(block))[0]
        k = int(np.flatnonzero(self._slots == slot)[0])
        raise ValueError(
            f"kernel {k} ({self.names[k]!r}) is {block[row, column]} at ({first_row + row}, {column}), "
            "expected finite numbers; look for missing values or overflow (very large features, a high degree), "
            "or leave the kernel out."
        )

    # ---- inside ----------------------------------------------------------------------------------------------------

    @property
    def _n_distinct(self) -> int:
        return len(self._stock.diagonals)

    def _require_room(self) -> None:
        if not self.fits_combined:
            raise ValueError(
                f"the combined matrix {(self.n_samples, self.n_samples)} does not fit into memory; "
                "use rows(idx, weights), or pass build_bank a larger memory."
            )

    def _asked(self, kernels: ArrayLike | None) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Positions of the kernels that take part (None: all), and which of the distinct kernels these are."""
        asked = np.arange(self.n_kernels) if kernels is None else np.asarray(kernels, dtype=np.intp)
        slots = self._slots[asked]
        wanted = np.zeros(self._n_distinct, dtype=bool)
        wanted[slots[slots >= 0]] = True
        return asked, wanted

    def _mixed(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Weights of the distinct kernels: those of duplicates add up."""
        given = checked_weights(weights, self.n_kernels)
        mixed = np.zeros(self._n_distinct)
        np.add.at(mixed, self._slots[self._live], given[self._live])
        return mixed

    def _spread(self, distinct: NDArray[Any]) -> NDArray[Any]:
        """Values of the named kernels from those of the distinct ones; zero for kernels that are zero."""
        if self._n_distinct == self.n_kernels and np.array_equal(self._slots, np.arange(self.n_kernels)):
            return distinct
        out = np.zeros((self.n_kernels, *distinct.shape[1:]), dtype=distinct.dtype)
        out[self._live] = distinct[self._slots[self._live]]
        return out

    def _add_combined(self, mixed: NDArray[np.float64], rows: Rows, cols: Rows, out: NDArray[Any]) -> None:
        for storage, places in self._storages:
            storage.add_combined(mixed[places], rows, cols, out)

    def _finish(self, products: int, entries: int) -> None:
        for storage, _ in self._storages:
            storage.release()
        self.counts.add(int(products), int(entries) * self.dtype.itemsize)


def _rows_of(parts: list[NDArray[np.float64]], rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Rows of the parts put below each other; the part itself where it is all of them in order."""
    if len(parts) == 2 and len(rows) == len(parts[1]) and np.array_equal(rows, np.arange(1, len(rows) + 1)):
        return parts[1]
    return np.concatenate(parts)[rows]
