"""Kernel matrices beyond doubt: whatever passes is one by the definition, in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from polykern.kernels.layout import alike, locate
from polykern.kernels.low_rank import MOST_ROWS, surely_kernels

TOLERANCE = 1e-5


def sure(*matrices, largest=512, n_jobs=None):
    return surely_kernels([locate(K) for K in matrices], TOLERANCE, largest, n_jobs).tolist()


def is_kernel_matrix(K):
    """The definition: finite, symmetric and positive semidefinite up to the tolerance."""
    K = np.asarray(K, dtype=np.float64)
    if not np.isfinite(K).all() or np.abs(K - K.T).max() > TOLERANCE * np.abs(K).max():
        return False
    eigenvalues = np.linalg.eigvalsh((K + K.T) / 2)
    return bool(eigenvalues[0] >= -TOLERANCE * max(eigenvalues[-1], 0.0))


def with_spectrum(values, n, seed=0):
    """An (n, n) symmetric matrix with these eigenvalues, and 0."""
    vectors = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, len(values))))[0]
    K = (vectors * values) @ vectors.T
    return (K + K.T) / 2


def gaussian(n, width, seed=0):
    x = np.random.default_rng(seed).standard_normal(n)
    return np.exp(-((x[:, None] - x) ** 2) / (2 * width**2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 50, 145, 512])
def test_matrices_of_low_rank_are_found(n, dtype):
    wide = [gaussian(n, width).astype(dtype) for width in (1.0, 4.0, 20.0)]
    factors = [np.random.default_rng(r).standard_normal((n, r)).astype(dtype) for r in (1, 4, 5, 12, 30)]
    given = [*wide, *(A @ A.T for A in factors), np.ones((n, n), dtype), np.zeros((n, n), dtype)]
    assert sure(*given) == [True] * len(given)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_scale_plays_no_part(scale):
    assert sure(scale * gaussian(80, 2.0), scale * with_spectrum([1.0, -0.01], 80)) == [True, False]


def test_more_rows_than_there_is_room_for_settle_nothing():
    assert sure(np.eye(MOST_ROWS), np.eye(MOST_ROWS + 1), np.eye(200)) == [True, False, False]


def test_nothing_passes_that_is_no_kernel_matrix():
    """Matrices of many ranks, spoilt by more and less than the tolerance in every way."""
    rng = np.random.default_rng(0)
    passed = spoilt = 0
    for trial in range(600):
        n, rank = int(rng.integers(2, 60)), int(rng.integers(1, 20))
        K = with_spectrum(rng.uniform(0.01, 1.0, min(n, rank)), n, trial)
        size = 10.0 ** rng.uniform(-8.0, -1.0)
        kind = trial % 4
        if kind == 1:
            K -= size * np.eye(n)
        elif kind == 2:
            K[rng.integers(n), rng.integers(n)] += size
        elif kind == 3:
            direction = np.linalg.qr(rng.standard_normal((n, 1)))[0]
            K -= size * direction @ direction.T
        K = K.astype(rng.choice([np.float32, np.float64]))
        allowed = is_kernel_matrix(K)
        found = sure(K)[0]
        assert allowed or not found, (trial, kind, size)
        passed, spoilt = passed + found, spoilt + (not allowed)
    assert passed > 150
    assert spoilt > 150


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [(0, 0), (7, 7), (3, 19), (19, 3)])
def test_entries_that_are_not_finite_never_pass(bad, where):
    for K in (gaussian(20, 5.0), np.ones((20, 20)), np.zeros((20, 20))):
        K[where] = bad
        assert sure(K) == [False]


@pytest.mark.parametrize("entry", [(5, 90), (90, 5), (40, 40)])
def test_one_entry_far_below_the_sight_of_a_sample_is_seen(entry):
    K = gaussian(120, 10.0)
    K[entry] -= 0.01
    assert not is_kernel_matrix(K)
    assert sure(K) == [False]


def test_orders_of_memory_and_parts_of_larger_arrays():
    K = gaussian(40, 3.0)
    stack = np.stack([K, K, K])
    part = np.kron(K, np.ones((1, 2)))[:, :40]  # rows apart from one another, and not symmetric
    inside = np.zeros((50, 60))
    inside[5:45, 7:47] = K
    assert sure(np.asfortranarray(K), stack[1], inside[5:45, 7:47], part) == [True, True, True, False]
    frozen = K.copy()
    frozen.flags.writeable = False
    assert sure(frozen) == [True]


def test_what_compiled_code_cannot_read_is_left_alone():
    K = gaussian(30, 3.0)
    odd = np.frombuffer(b"x" + K.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(30, 30)
    every_second = np.kron(K, np.eye(2))[::2, ::2]
    turned, wide, whole = K[::-1, ::-1], np.ones((3, 4)), np.ones((3, 3), dtype=np.int64)
    given = [odd, every_second, turned, wide, whole, np.broadcast_to(1.0, (3, 3)), np.empty((0, 0))]
    assert not any(sure(*given))
    assert alike([locate(one) for one in given]) == []


def test_sizes_beyond_the_largest_are_not_looked_at():
    assert sure(gaussian(30, 3.0), gaussian(31, 3.0), largest=30) == [True, False]


def test_many_of_several_kinds_on_one_and_on_two_threads():
    given = [gaussian(n, 1.0 + k % 7, k).astype(t) for k in range(60) for n, t in ((130, "f4"), (90, "f8"))]
    given[17] = given[17] - 0.5 * np.eye(len(given[17]), dtype=given[17].dtype)
    expected = [k != 17 for k in range(120)]
    assert sure(*given, n_jobs=1) == sure(*given, n_jobs=2) == expected
