"""Kernels that stand somewhere as matrices: products by BLAS, straight on them.

`matrices[k][index[i], index[j]]` is entry (i, j) of kernel k as it is stored; its normalization comes on top. Where the
index is a run of consecutive samples it is a slice, so all work is on views of the matrices. Where it is scattered (a
training fold of a precomputed kernel), a product does not gather K[index x index] (one
measurement, float32, 2,400 of 3,000 samples: 17 ms to gather, 3 ms for whole rows, 1 ms for the whole matrix in order):
the vector is scattered over all columns and whole rows are read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from polykern.bank.indexing import Rows, block_of, compose, length
from polykern.bank.products import FEW_COLUMNS, columns_times, rows_times
from polykern.bank.storage import Storage
from polykern.bank.sweep import Matrices, add_and_multiply, add_up, multiply, quadratic
from polykern.bank.terms import Terms, Wrapped, apply_terms, has_terms
from polykern.parallel import run_blocks, spans

# Rows of one panel: large enough for BLAS, small enough that two threads find work on small matrices too.
PANEL_ENTRIES = 1 << 20
# Estimates, not tuned.
# Below this share of nonzero rows, copying the rows in question is cheaper than streaming the whole matrix.
SPARSE_SHARE = 1 / 3
# Below this share of the matrix's columns, gathering them is cheaper than reading whole rows.
SCATTERED_SHARE = 1 / 12


class MatrixStorage(Storage):
    """Kernels given by matrices and the positions of the samples in them."""

    def __init__(
        self,
        matrices: Sequence[NDArray[Any]] | NDArray[Any],
        index: Rows,
        terms: Sequence[Terms],
        dtype: DTypeLike,
        n_jobs: int | None,
        owner: Storage | None = None,
    ) -> None:
        super().__init__(terms, length(index), dtype, n_jobs)
        self.owner = owner  # whose matrices these are, if another storage's: kept alive, and told to release
        self.matrices = matrices
        self.index = index

    @abstractmethod
    def subset(self, index: Rows) -> MatrixStorage:
        """The same matrices for some of the samples: positions are composed, nothing is copied."""

    def release(self) -> None:
        if self.owner is not None:
            self.owner.release()

    def each(self, rows: Rows, cols: Rows, wanted: Sequence[int]) -> Iterator[tuple[int, NDArray[Any]]]:
        where = compose(self.index, rows), compose(self.index, cols)
        for k in wanted:
            block = block_of(self.matrices[k], *where)
            if has_terms(self.terms[k]):
                block = apply_terms(np.array(block, dtype=self.dtype), self.terms[k], rows, cols)
            yield int(k), block

    def scores(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        support = np.flatnonzero(coef.any(axis=1))
        sparse = support.size < SPARSE_SHARE * self.n_samples
        if self.in_memory is not None and not sparse and coef.shape[1] <= FEW_COLUMNS:
            vectors = [np.ascontiguousarray(one) for one in coef.T]
            products = [multiply(self.in_memory, one, self.n_jobs) for one in vectors]
            return self.scales[:, None, None] * np.stack(products, axis=2)
        out = np.empty((self.n_kernels, *coef.shape))
        wrapped = [Wrapped(terms, coef) for terms in self.terms]

        def fill(task: tuple[range, Rows]) -> None:
            kernels, rows = task
            for k in kernels:
                inner = wrapped[k].inner
                product = self._by_support(k, rows, inner, support) if sparse else self._product(k, rows, inner)
                out[k, rows] = self.scales[k] * wrapped[k].outer(product, rows)
            self.release()

        # A sparse product runs down the columns, and each cut of them would copy the same rows once more.
        panels = spans(self.n_samples, self.n_samples if sparse else self._panel_height())
        run_blocks(fill, self._tasks(panels), self.jobs)
        return out

    @cached_property
    def in_memory(self) -> Matrices | None:
        """The matrices for compiled passes; None where they are gathered, centred, in a file, or of several types."""
        read_as_they_are = isinstance(self.index, slice) and not any(map(has_terms, self.terms))
        of_a_file = self.owner is not None and cast(MatrixStorage, self.owner).in_memory is None
        if not read_as_they_are or of_a_file:
            return None
        return Matrices.of(self.matrices, cast(slice, self.index).start, self.n_samples)

    def combine(self, weights: NDArray[np.float64], combined: NDArray[Any]) -> None:
        wanted = np.flatnonzero(weights)
        if self.in_memory is None:
            super().combine(weights, combined)
        elif wanted.size:
            add_up(self.in_memory.take(wanted), (weights * self.scales)[wanted], combined, self.n_jobs)

    def sweep(
        self, weights: NDArray[np.float64], coef: NDArray[np.float64], wanted: NDArray[np.intp], combined: NDArray[Any]
    ) -> NDArray[np.float64]:
        if self.in_memory is None:
            return super().sweep(weights, coef, wanted, combined)
        scales = self.scales[wanted]
        products = add_and_multiply(self.in_memory.take(wanted), weights * scales, coef, combined, self.n_jobs)
        products *= scales[:, None]
        return products

    def quad_forms(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.in_memory is not None and coef.shape[1] == 1:
            return self.scales * quadratic(self.in_memory, np.ascontiguousarray(coef[:, 0]), self.n_jobs)
        wrapped = [Wrapped(terms, coef) for terms in self.terms]
        panels, form_of = self._form_panels(coef)

        def forms(task: tuple[range, Rows]) -> list[float]:
            kernels, rows = task
            some = [form_of(k, rows, wrapped[k].inner) for k in kernels]
            self.release()
            return some

        total = np.array([one.form_correction for one in wrapped])
        tasks = self._tasks(panels)
        for (kernels, _), some in zip(tasks, run_blocks(forms, tasks, self.jobs), strict=True):
            total[kernels.start : kernels.stop] += some
        return self.scales * total

    def _panel_height(self) -> int:
        return max(1, PANEL_ENTRIES // max(1, self.n_samples))

    def _tasks(self, panels: Sequence[Rows]) -> list[tuple[range, Rows]]:
        """Panels of single kernels, or of several where the matrices are small."""
        several = max(1, PANEL_ENTRIES // max(1, self.n_samples**2))
        kernels = range(self.n_kernels)
        return [(kernels[some], rows) for some in spans(self.n_kernels, several) for rows in panels]

    def _form_panels(self, coef: NDArray[np.float64]) -> tuple[list[Rows], Callable[..., float]]:
        """Rows to go through, and the form's share of such rows of one kernel: the cheapest of three ways."""
        support = np.flatnonzero(coef.any(axis=1))
        if support.size < SPARSE_SHARE * self.n_samples:
            return [support[one] for one in spans(support.size, self._panel_height())], self._form_of_rows
        panels: list[Rows] = list(spans(self.n_samples, self._panel_height()))
        return panels, self._form_of_triangle if isinstance(self.index, slice) else self._form_of_rows

    def _form_of_rows(self, k: int, rows: Rows, inner: NDArray[np.float64]) -> float:
        return float(np.vdot(inner[rows], self._product(k, rows, inner)))

    def _form_of_triangle(self, k: int, rows: slice, inner: NDArray[np.float64]) -> float:
        """The diagonal block once and what is right of it twice: half of the matrix is never read."""
        start = self.index.start  # type: ignore[union-attr]
        here = slice(start + rows.start, start + rows.stop)
        behind = slice(here.stop, start + self.n_samples)
        square = inner[rows] * rows_times(self.matrices[k], here, here, inner[rows])
        right = inner[rows] * rows_times(self.matrices[k], here, behind, inner[rows.stop :])
        return float(square.sum() + 2.0 * right.sum())

    def _product(self, k: int, rows: Rows, inner: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows of the stored matrix times the inner vectors."""
        matrix, here = self.matrices[k], compose(self.index, rows)
        if isinstance(self.index, slice):
            return rows_times(matrix, here, self.index, inner)
        if self.n_samples < SCATTERED_SHARE * matrix.shape[0]:
            return block_of(matrix, here, self.index) @ inner
        # Added, not set: a sample may stand twice in the index.
        scattered = np.zeros((matrix.shape[0], inner.shape[1]))
        np.add.at(scattered, self.index, inner)
        return rows_times(matrix, here, slice(0, matrix.shape[0]), scattered)

    def _by_support(self, k: int, cols: Rows, inner: NDArray[np.float64], support: NDArray[np.intp]) -> NDArray[Any]:
        """K[cols, :] c' by symmetry: K[support, cols]' c'[support], from the rows of the support alone."""
        matrix, there = self.matrices[k], compose(self.index, cols)
        if isinstance(there, slice):
            return columns_times(matrix, compose(self.index, support), there, inner[support])
        total = np.zeros((length(cols), inner.shape[1]))
        for span in spans(support.size, self._panel_height()):
            some = support[span]
            total += block_of(matrix, compose(self.index, some), there).T @ inner[some]
        return total
