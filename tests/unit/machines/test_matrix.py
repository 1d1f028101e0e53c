"""The combined matrix: whole or row by row, the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.machines import random_kernel
from polykern.bank import build_bank
from polykern.kernels import RBF, Linear
from polykern.machines import CombinedMatrix, matrix


@pytest.fixture(params=["whole", "by rows"])
def build(request, matrix_by_rows):
    return CombinedMatrix.from_array if request.param == "whole" else matrix_by_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reads_like_the_array(build, dtype):
    K = random_kernel(53, 20, seed=0, dtype=dtype)
    combined, random = build(K), np.random.default_rng(1)
    idx = np.sort(random.permutation(53)[:17])
    np.testing.assert_array_equal(combined.rows(idx), K[idx])
    np.testing.assert_array_equal(combined.rows(idx[::-1]), K[idx[::-1]])
    np.testing.assert_array_equal(combined.block(idx), K[np.ix_(idx, idx)])
    np.testing.assert_array_equal(combined.diag(), np.diag(K))
    assert combined.n_samples == 53 and combined.dtype == dtype
    for kept in (0, 1, 3, 6, 40, 53):
        coef = random.normal(size=53) * (random.permutation(53) < kept)
        np.testing.assert_allclose(combined.matvec(coef), K.astype(np.float64) @ coef, atol=1e-13)


def test_float32_entries_are_summed_in_float64():
    K = np.full((1000, 1000), 0.1, dtype=np.float32)
    product = CombinedMatrix.from_array(K).matvec(np.ones(1000))
    np.testing.assert_allclose(product, 1000 * float(np.float32(0.1)), rtol=1e-14)


def test_threads_give_the_same_sums(monkeypatch):
    K, coef = random_kernel(64, 20, seed=2, dtype=np.float32), np.linspace(-1, 1, 64)
    alone = CombinedMatrix.from_array(K).matvec(coef)
    monkeypatch.setattr(matrix, "_WORTH_THREADS", 0)
    np.testing.assert_array_equal(CombinedMatrix.from_array(K).matvec(coef), alone)


def test_an_array_is_kept_not_copied():
    K = random_kernel(10, 5, seed=3)
    assert np.shares_memory(CombinedMatrix.from_array(K).dense, K)
    assert CombinedMatrix.from_array(np.asfortranarray(K)).dense.flags.c_contiguous


def test_bank_whole_and_on_the_fly():
    X, weights = np.random.default_rng(4).normal(size=(60, 3)), [0.3, 0.7]
    bank = build_bank([RBF(gamma=0.5), Linear()], X)
    expected = bank.combine(np.array(weights))
    np.testing.assert_allclose(CombinedMatrix(bank, weights).dense, expected, rtol=1e-14)

    class Tight:
        """The same bank, without the room for a whole matrix."""

        fits_combined, row_cache_bytes = False, 5 * 60 * 8

        def __getattr__(self, name):
            return getattr(bank, name)

    by_rows = CombinedMatrix(Tight(), weights)
    assert by_rows.dense is None
    np.testing.assert_allclose(by_rows.rows(np.arange(60)), expected, atol=1e-14)
    np.testing.assert_allclose(by_rows.diag(), np.diag(expected), atol=1e-14)


def test_bad_arrays_are_refused():
    with pytest.raises(ValueError, match=r"array has shape \(3, 4\), expected a square kernel matrix"):
        CombinedMatrix.from_array(np.zeros((3, 4)))
    with pytest.raises(TypeError, match="array is of type int64, expected float32 or float64"):
        CombinedMatrix.from_array(np.zeros((3, 3), dtype=np.int64))
