"""Precomputed kernels: the user's own matrices, read where they are and never copied as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern._jit import jit
from polykern.bank.indexing import Rows, compose, positions
from polykern.bank.matrices import MatrixStorage
from polykern.bank.products import read_only
from polykern.bank.terms import has_terms


class SharedStorage(MatrixStorage):
    """Matrices that belong to somebody else (the user, or the bank that this one is a subset of)."""

    kind = "shared"

    def subset(self, index: Rows) -> SharedStorage:
        terms = [one.take(index) for one in self.terms]
        where = compose(self.index, index)
        return SharedStorage(self.matrices, where, terms, self.dtype, self.n_jobs, owner=self.owner)

    def add_combined(self, weights: NDArray[np.float64], rows: Rows, cols: Rows, out: NDArray[Any]) -> None:
        plain = np.array([not has_terms(terms) for terms in self.terms])
        where = positions(compose(self.index, rows)), positions(compose(self.index, cols))
        for k in np.flatnonzero(plain & (weights != 0)).tolist():
            add_gathered(read_only(self.matrices[k]), weights[k] * self.scales[k], *where, out)
        super().add_combined(np.where(plain, 0.0, weights), rows, cols, out)


@jit
def add_gathered(matrix, weight, rows, cols, out):
    """out += weight * matrix[rows x cols], without a copy of the block."""
    for i in range(rows.size):
        source = matrix[rows[i]]
        target = out[i]
        for j in range(cols.size):
            target[j] += weight * source[cols[j]]
