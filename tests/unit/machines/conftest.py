"""Problems of every loss, and matrices that are never whole in memory."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.machines import problem_for
from polykern.machines import CombinedMatrix


class RowBank:
    """A bank that only ever gives rows of one matrix, with room for some of them; counts the rows it was asked for."""

    fits_combined = False

    def __init__(self, K, cached_rows):
        self.K, self.n_samples, self.dtype = K, len(K), K.dtype
        self.row_cache_bytes = cached_rows * K.shape[1] * K.dtype.itemsize
        self.rows_computed = 0

    def rows(self, idx, weights):
        self.rows_computed += len(idx)
        return (self.K[idx] * weights[0]).astype(self.dtype)

    def diag(self, weights):
        return np.diag(self.K) * weights[0]


@pytest.fixture
def matrix_by_rows():
    def build(K, cached_rows=20):
        return CombinedMatrix(RowBank(K, cached_rows), [1.0])

    return build


@pytest.fixture
def make_problem():
    return problem_for
