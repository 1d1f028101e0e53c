"""Rows and small blocks of all kernels, in every storage, against the naive bank."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.bank import NaiveBank, force
from polykern import kernels
from polykern._jit import array_at, jit
from polykern.bank import build_bank
from polykern.bank.by_sample import BySample
from polykern.bank.plan import DENSE, MEMMAP, ON_THE_FLY

TOLERANCE = {"float64": 1e-10, "float32": 3e-5}


@jit
def _read(entries, k, i, j):
    matrix = array_at(entries.addresses[k], entries.store, entries.n_rows, entries.stride)
    return entries.scales[k] * matrix[entries.places[i], entries.places[j]]


def read(entries):
    """(F, r, r) the entries, as compiled code reads them."""
    size = range(len(entries.places))
    return np.array([[[_read(entries, k, i, j) for j in size] for i in size] for k in range(len(entries.scales))])


def check(bank, K, tolerance):
    by_sample, rng = BySample(bank), np.random.default_rng(0)
    n, n_kernels = bank.n_samples, bank.n_kernels
    for idx in ([3, 50, 7, 8], [5, 5, 2], [9]):
        scale = np.abs(K).max()
        np.testing.assert_allclose(read(by_sample.entries(idx)), K[:, idx][:, :, idx], atol=tolerance * scale)
        for n_outputs in (1, 4):
            changes = rng.standard_normal((len(idx), n_outputs)) * (rng.random((len(idx), n_outputs)) < 0.7)
            before = rng.standard_normal((n_kernels, n_outputs, n))
            out = before.copy()
            by_sample.add_products(idx, changes, out)
            expected = before + np.einsum("kui,ut->kti", K[:, idx], changes)
            np.testing.assert_allclose(out, expected, atol=tolerance * scale)
    return by_sample


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("normalize", ["mean-diagonal", "center-diagonal", None])
@pytest.mark.parametrize("storage", [DENSE, ON_THE_FLY, MEMMAP])
def test_every_storage_equals_the_naive_bank(mixed, X, normalize, storage, dtype, monkeypatch):
    force(monkeypatch, storage)
    naive = NaiveBank(mixed, X, normalize)
    bank = build_bank(mixed, X, normalize=normalize, dtype=dtype, n_jobs=1)
    check(bank, naive.K, TOLERANCE[dtype])
    idx = np.random.default_rng(5).permutation(70)[:62]
    check(bank.subset(idx), naive.K[:, idx][:, :, idx], TOLERANCE[dtype])


def test_matrices_in_memory_are_read_where_they_are(X):
    data = X[:, :4]
    assert BySample(build_bank(["rbf", "linear"], data)).in_memory is not None
    K = data @ data.T
    bank = build_bank([kernels.Precomputed(K), kernels.Precomputed(3.0 * K)], np.arange(70))
    by_sample = check(bank, np.array([K, K]) / np.mean(np.diag(K)), 1e-10)
    assert by_sample.in_memory is not None
    np.testing.assert_allclose(by_sample.in_memory.scales[0], 3.0 * by_sample.in_memory.scales[1])


@pytest.mark.parametrize("others", [["rbf", "rbf"], ["rbf", kernels.Precomputed(np.eye(70, dtype=np.float32))]])
def test_kernels_that_are_twice_there_or_of_another_type(X, others, quiet):
    columns = slice(0, 4)
    spec = [kernels.OnColumns(kernels.as_kernel(k), columns if isinstance(k, str) else [4]) for k in others]
    bank = build_bank(spec, X)
    check(bank, bank.blocks(slice(0, 70), slice(0, 70)), 1e-6)


def test_kernels_that_are_zero(X, quiet):
    bank = build_bank([kernels.Linear(), kernels.Precomputed(np.zeros((70, 70)))][::-1], np.arange(70)[:, None])
    check(bank, bank.blocks(slice(0, 70), slice(0, 70)), 1e-9)
    nothing = build_bank([kernels.Precomputed(np.zeros((70, 70)))], np.arange(70))
    check(nothing, np.zeros((1, 70, 70)), 1e-9)


@pytest.mark.parametrize("storage", [DENSE, ON_THE_FLY])
def test_threads_give_the_same_numbers(X, storage, monkeypatch):
    from polykern import parallel
    from polykern.bank import by_sample

    force(monkeypatch, storage)
    monkeypatch.setattr(parallel, "_WORTH_THREADS", 1)
    monkeypatch.setattr(by_sample, "BLOCK_ENTRIES", 500)
    rng = np.random.default_rng(0)
    data = rng.standard_normal((4200 if storage == DENSE else 200, 3))
    idx, changes = rng.permutation(200)[:30], rng.standard_normal((30, 2))
    found = []
    for n_jobs in (1, 2):
        bank = build_bank(["rbf", "linear"], data, n_jobs=n_jobs, dtype="float32")
        out = np.zeros((2, 2, len(data)))
        BySample(bank).add_products(idx, changes, out)
        found.append(out)
    np.testing.assert_array_equal(*found)


def test_bad_arguments_are_refused(X):
    by_sample = BySample(build_bank(["rbf"], X[:, :4]))
    out = np.zeros((1, 2, 70))
    with pytest.raises(ValueError, match="idx runs from 0 to 70, expected positions from 0 to 69"):
        by_sample.add_products([0, 70], np.ones((2, 2)), out)
    with pytest.raises(ValueError, match=r"changes has shape \(2, 3\).*expected 2 rows of changes and \(1, 3, 70\)"):
        by_sample.add_products([0, 1], np.ones((2, 3)), out)
