"""Every operator of every storage equals the naive dense one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.bank import NaiveBank, force
from polykern import kernels
from polykern.bank import build_bank
from polykern.bank.plan import DENSE, MEMMAP, ON_THE_FLY

NORMALIZERS = ["mean-diagonal", "trace", "diagonal", "center", "center-diagonal", None]
TOLERANCE = {"float64": 1e-10, "float32": 3e-5}


def small_tiles(monkeypatch):
    """Tiles so small that 70 samples make many of them."""
    from polykern.bank import bank, computed, dense, matrices, products, reference, storage

    for module in (computed, reference):
        monkeypatch.setattr(module, "TILE_ROWS", 24)
        monkeypatch.setattr(module, "TILE_COLS", 31)
    monkeypatch.setattr(matrices, "PANEL_ENTRIES", 1700)
    monkeypatch.setattr(products, "PANEL_ENTRIES", 300)
    monkeypatch.setattr(storage, "TILE_ENTRIES", 300)
    monkeypatch.setattr(dense, "PANEL_ROWS", 24)
    monkeypatch.setattr(bank, "PANEL_ROWS", 24)


def assert_close(found, expected, dtype):
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[dtype] * np.abs(expected).max())


def check_all(bank, naive, K, dtype, new):
    """All operators of `bank` against the matrices K; `new` is data that training has not seen."""
    rng = np.random.default_rng(3)
    n, F = bank.n_samples, bank.n_kernels
    weights = rng.random(F) * (np.arange(F) != 1)
    full, few = rng.standard_normal(n), np.where(np.arange(n) % 6 == 1, rng.standard_normal(n), 0.0)
    assert bank.dtype == dtype
    combined = np.tensordot(weights, K, 1)
    for coef in (full, few, rng.standard_normal((n, 3)), np.zeros(n)):
        assert_close(bank.scores(coef), K @ coef, dtype)
        columns = coef.reshape(n, -1)
        assert_close(bank.quad_forms(coef), np.einsum("it,kij,jt->k", columns, K, columns), dtype)
    got = bank.combine(weights)
    assert_close(got, combined, dtype)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, got.T)
    assert_close(bank.diag(weights), np.diag(combined), dtype)
    both, scores = bank.sweep(weights, full)
    assert_close(both, combined, dtype)
    np.testing.assert_array_equal(both, both.T)
    assert_close(scores, K @ full, dtype)
    some = np.array([F - 1, 0])
    both, scores = bank.sweep(weights, few, kernels=some, out=both)
    assert_close(both, np.tensordot(weights[some], K[some], 1), dtype)
    assert_close(scores, K[some] @ few, dtype)
    for idx in ([5], [3, 50, 3, 8], range(10, 20), []):
        rows = np.asarray(idx, dtype=int)
        assert_close_or_empty(bank.rows(idx, weights), combined[rows], dtype)
    assert_close(bank.blocks([1, 40, 7], slice(3, 30)), K[:, [1, 40, 7], 3:30], dtype)
    assert_close(bank.blocks(slice(0, n), slice(0, n)), K, dtype)


def assert_close_or_empty(found, expected, dtype):
    assert found.shape == expected.shape
    if expected.size:
        assert_close(found, expected, dtype)


def check_reference(bank, naive, dtype, new, positions):
    rng = np.random.default_rng(4)
    against = naive.against(new)[:, :, positions]
    weights = rng.random(bank.n_kernels)
    kept = [1, 50, 7, 8, 9, 30]
    reference = bank.keep(kept)
    assert_close(reference.against(new, weights), np.tensordot(weights, against[:, :, kept], 1), dtype)
    for coef in (rng.standard_normal(6), rng.standard_normal((6, 2))):
        assert_close(reference.scores(new, coef), against[:, :, kept] @ coef, dtype)


@pytest.fixture
def new_data(X):
    rng = np.random.default_rng(9)
    return np.column_stack([rng.standard_normal((40, 4)), np.arange(70, 110)])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("normalize", NORMALIZERS)
@pytest.mark.parametrize("storage", [DENSE, ON_THE_FLY, MEMMAP])
def test_every_storage_equals_the_naive_bank(mixed, X, new_data, normalize, storage, dtype, monkeypatch):
    force(monkeypatch, storage)
    small_tiles(monkeypatch)
    naive = NaiveBank(mixed, X, normalize)
    bank = build_bank(mixed, X, normalize=normalize, dtype=dtype, n_jobs=1)
    assert storage in bank.explain()
    check_all(bank, naive, naive.K, dtype, new_data)
    check_reference(bank, naive, dtype, new_data, np.arange(70))
    for idx in (np.arange(10, 65), np.r_[0:30, 33:70], np.random.default_rng(5).permutation(70)[:62]):
        part = bank.subset(idx)
        check_all(part, naive, naive.K[:, idx][:, :, idx], dtype, new_data)
        check_reference(part, naive, dtype, new_data, idx)
    nested = bank.subset(np.r_[0:69:2, 1:60]).subset(np.arange(3, 90))
    idx = np.r_[0:69:2, 1:60][3:90]
    check_all(nested, naive, naive.K[:, idx][:, :, idx], dtype, new_data)


@pytest.mark.parametrize("storage", [DENSE, MEMMAP])
def test_subset_without_room_reads_the_matrices_of_the_whole(mixed, X, storage, monkeypatch):
    from polykern.bank import build

    force(monkeypatch, storage)
    monkeypatch.setattr(build, "_room_for", lambda *_: False)
    naive = NaiveBank(mixed, X, "center")
    bank = build_bank(mixed, X, normalize="center")
    idx = np.sort(np.random.default_rng(5).permutation(70)[:62])
    part = bank.subset(idx)
    assert "whole bank" in part.explain()
    check_all(part, naive, naive.K[:, idx][:, :, idx], "float64", None)


def test_few_samples_of_a_large_matrix_are_gathered():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((600, 10))
    kernel = kernels.Precomputed(A @ A.T)
    idx = rng.permutation(600)[:20]
    K = NaiveBank([kernel], idx, "trace").K
    bank = build_bank([kernel], idx, normalize="trace")
    coef = rng.standard_normal(20)
    np.testing.assert_allclose(bank.scores(coef), K @ coef, rtol=1e-10)
    np.testing.assert_allclose(bank.quad_forms(coef), [coef @ K[0] @ coef], rtol=1e-10)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_subset_any_support(data):
    n = data.draw(st.integers(2, 40))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    X = rng.standard_normal((n, 3))
    family = [kernels.RBF(gamma=0.5), kernels.RBF(gamma=2.0), kernels.OnColumns(kernels.Linear(), [1])]
    normalize = data.draw(st.sampled_from(NORMALIZERS))
    bank = build_bank(family, X, normalize=normalize, memory="50MB")
    K = bank.blocks(slice(0, n), slice(0, n))
    idx = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=2 * n)))
    part = bank.subset(idx)
    K = K[:, idx][:, :, idx]
    coef = rng.standard_normal(len(idx)) * (rng.random(len(idx)) < data.draw(st.floats(0, 1)))
    weights = np.array(data.draw(st.lists(st.floats(0, 10), min_size=3, max_size=3)))
    size = np.abs(K).max() * max(1.0, np.abs(coef).sum())
    np.testing.assert_allclose(part.scores(coef), K @ coef, atol=1e-11 * size)
    np.testing.assert_allclose(part.quad_forms(coef), coef @ K @ coef, atol=1e-11 * size * max(1, np.abs(coef).sum()))
    np.testing.assert_allclose(part.combine(weights), np.tensordot(weights, K, 1), atol=1e-11 * 30 * np.abs(K).max())


def test_combine_writes_into_out(X):
    bank = build_bank(["linear", "rbf"], X[:, :4])
    out = np.full((70, 70), np.nan)
    assert bank.combine([1.0, 2.0], out=out) is out
    np.testing.assert_array_equal(out, bank.combine([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"out is \(3, 3\).*expected \(70, 70\)"):
        bank.combine([1.0, 2.0], out=np.empty((3, 3)))


@pytest.mark.parametrize("storage", [DENSE, ON_THE_FLY, MEMMAP])
def test_threads_give_the_same_numbers(mixed, X, storage, monkeypatch):
    force(monkeypatch, storage)
    small_tiles(monkeypatch)
    coef, weights = np.random.default_rng(0).standard_normal((70, 2)), np.arange(8.0)
    one, two, again = (build_bank(mixed, X, n_jobs=n) for n in (1, 2, 2))
    for name, argument in (("scores", coef), ("quad_forms", coef), ("combine", weights)):
        np.testing.assert_array_equal(getattr(two, name)(argument), getattr(again, name)(argument))
        np.testing.assert_array_equal(getattr(one, name)(argument), getattr(two, name)(argument))


def test_kernels_of_weight_zero_are_not_touched(X, monkeypatch):
    force(monkeypatch, ON_THE_FLY)
    calls = []

    class Watched(kernels.RBF):
        def from_base(self, block, out):
            calls.append(self.gamma)
            super().from_base(block, out)

    bank = build_bank([Watched(gamma=0.1), Watched(gamma=0.2)], X[:, :4])
    reference = bank.keep([0, 1])
    calls.clear()
    bank.combine([0.0, 1.0])
    bank.rows([1, 2], [0.0, 1.0])
    reference.against(X[:5, :4], [0.0, 1.0])
    assert set(calls) == {0.2}


@pytest.mark.parametrize("n", [40, 700])  # whole rows; triangles, bands and pieces
def test_compiled_passes_equal_numpy(n, monkeypatch):
    from polykern.bank import sweep

    monkeypatch.setattr(sweep, "SMALL", 1000)
    monkeypatch.setattr(sweep, "BAND_ENTRIES", 9000)
    rng = np.random.default_rng(n)
    stack = rng.standard_normal((7, n + 3, n))[:, 3:]
    stack = stack + stack.transpose(0, 2, 1)
    some = sweep.Matrices.of(list(stack), 2, n - 5)
    inner = stack[:, 2 : n - 3, 2 : n - 3]
    weights, vector = rng.random(7), rng.standard_normal(n - 5) * (rng.random(n - 5) < 0.7)
    for n_jobs in (1, 2):
        combined = np.zeros((n - 5, n - 5))
        products = sweep.add_and_multiply(some, weights, vector, combined, n_jobs)
        alone = np.zeros((n - 5, n - 5))
        sweep.add_up(some, weights, alone, n_jobs)
        assert sweep.mirror_upper(combined, n_jobs) and sweep.mirror_upper(alone, n_jobs)
        np.testing.assert_allclose(combined, np.tensordot(weights, inner, 1), atol=1e-11)
        np.testing.assert_allclose(alone, np.tensordot(weights, inner, 1), atol=1e-11)
        np.testing.assert_allclose(products, inner @ vector, atol=1e-10)
        expected = np.einsum("i,kij,j->k", vector, inner, vector)
        np.testing.assert_allclose(sweep.quadratic(some, vector, n_jobs), expected, atol=1e-9)
    alone[3, 5] = np.inf
    assert not sweep.mirror_upper(alone, 1)


def test_matrices_that_do_not_lie_alike_are_left_to_others():
    from polykern.bank import sweep

    plain = np.eye(6)
    assert sweep.Matrices.of([plain, plain.astype(np.float32)], 0, 6) is None
    assert sweep.Matrices.of([plain[::2, ::2]], 0, 3) is None
    assert sweep.Matrices.of([plain.astype(int)], 0, 6) is None


def test_a_sweep_names_the_kernel_that_is_not_finite(X):
    K = X[:, :4] @ X[:, :4].T
    bank = build_bank([kernels.Precomputed(K), kernels.Precomputed(K + 1.0)], np.arange(70))
    K[2, 1] = K[1, 2] = np.nan  # behind the checks: the user's matrix is not copied
    for look in (lambda: bank.sweep([1.0, 1.0], np.ones(70)), lambda: bank.combine([1.0, 1.0])):
        with pytest.raises(ValueError, match=r"kernel 0 \('precomputed_0'\) is nan at \(1, 2\)"):
            look()


def test_counts_say_what_was_done(X):
    bank = build_bank(["linear", "rbf", kernels.RBF(gamma=3.0)], X[:, :4])
    before = bank.counts.snapshot()
    bank.scores(np.ones((70, 2)))
    assert bank.counts.since(before).n_kernel_products == 6
    bank.quad_forms(np.ones(70))
    assert bank.counts.since(before).n_kernel_products == 9
    bank.combine([1.0, 0.0, 1.0])
    spent = bank.counts.since(before)
    assert spent.n_kernel_products == 11
    assert spent.bytes_moved == (3 + 3 + 2) * 70 * 70 * 8
    bank.sweep([1.0, 0.0, 1.0], np.ones(70))
    assert bank.counts.since(before).n_kernel_products == 11 + 3 + 2
    assert bank.counts.since(before).bytes_moved == (3 + 3 + 2 + 3) * 70 * 70 * 8
    assert bank.counts.n_kernel_products == bank.counts.snapshot().n_kernel_products
