"""BinaryMKL against cvxpy on all pairs; which pairs are drawn; blocks, passes and parts of the samples."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from oracles.mkl_cases import random_kernels
from polykern.bank import build_bank
from polykern.kernels import RBF, OnColumns, Precomputed
from polykern.weighting import BinaryMKL, binary_mkl, pairs
from polykern.weighting.binary_mkl import minimise
from polykern.weighting.pairs import Pairs

N = 18


def bank_of(kernels, dtype="float64"):
    return build_bank([Precomputed(K) for K in kernels], np.arange(len(kernels[0])), normalize=None, dtype=dtype)


def blobs(n_classes, n_kernels=6, n=N, seed=0):
    """(bank, matrices, y): one Gaussian kernel per column, the columns tell more or less about the class."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n_classes, n_kernels))[y] * rng.uniform(0, 2, size=n_kernels) + rng.normal(size=(n, n_kernels))
    bank = build_bank([OnColumns(RBF(gamma=0.5), [k]) for k in range(n_kernels)], X, normalize="center-diagonal")
    return bank, bank.blocks(np.arange(n), np.arange(n)), y


def pair_weights(y, balanced):
    """(n, n): weight of every ordered pair."""
    same = np.equal.outer(y, y)
    if not balanced:
        return np.full(same.shape, 1.0 / same.size)
    return np.where(same, 0.5 / same.sum(), 0.5 / (~same).sum())


def objective(b, matrices, y, w, C):
    t = np.where(np.equal.outer(y, y), 1.0, -1.0)
    return 0.5 * b @ b + C * np.sum(w * np.maximum(0.0, 1.0 - t * np.tensordot(b, matrices, 1)))


def solved_by_cvxpy(matrices, y, w, C):
    t = np.where(np.equal.outer(y, y), 1.0, -1.0).ravel()
    points = np.reshape(matrices, (len(matrices), -1)).T * t[:, None]
    b = cp.Variable(len(matrices), nonneg=True)
    loss = 0.5 * cp.sum_squares(b) + C * (w.ravel() @ cp.pos(1.0 - points @ b))
    value = cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL)
    return value, b.value


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_the_objective_is_that_of_all_pairs(n_classes, balanced, C):
    bank, matrices, y = blobs(n_classes)
    w = pair_weights(y, balanced)
    best, _ = solved_by_cvxpy(matrices, y, w, C)
    found = minimise(Pairs(bank, y, balanced=balanced), C, 1e-6, np.zeros(bank.n_kernels))
    assert found.weights.min() >= 0
    assert objective(found.weights, matrices, y, w, C) == pytest.approx(found.primal, rel=1e-9)
    assert found.primal == pytest.approx(best, rel=2e-6)
    assert found.dual <= best * (1 + 1e-7)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_weights_are_the_solution_scaled(n_classes):
    bank, matrices, y = blobs(n_classes)
    _, b = solved_by_cvxpy(matrices, y, pair_weights(y, True), 20.0)
    weights = BinaryMKL(C=20.0, tol=1e-7).weights(bank, y, np.random.RandomState(0))
    np.testing.assert_allclose(weights, b / b.sum(), atol=1e-3)
    assert weights.sum() == pytest.approx(1.0) and weights.min() >= 0


@pytest.mark.parametrize("numbers", [60, 700])
def test_blocks_give_the_same_as_everything_at_once(monkeypatch, numbers):
    bank, _, y = blobs(3)
    whole = minimise(Pairs(bank, y), 50.0, 1e-6, np.zeros(bank.n_kernels))
    monkeypatch.setattr(pairs, "_TILE_NUMBERS", numbers)
    monkeypatch.setattr(pairs, "_HELD_NUMBERS", 0)
    by_blocks = minimise(Pairs(bank, y), 50.0, 1e-6, np.zeros(bank.n_kernels))
    np.testing.assert_allclose(by_blocks.weights, whole.weights, rtol=1e-9)


def test_no_more_pairs_are_read_at_a_time_than_a_tile_has(monkeypatch):
    bank, _, y = blobs(3, n=40)
    sizes = []
    blocks = bank.blocks

    def counted(rows, cols):
        block = blocks(rows, cols)
        sizes.append(block.size)
        return block

    monkeypatch.setattr(bank, "blocks", counted)
    monkeypatch.setattr(pairs, "_TILE_NUMBERS", 600)
    monkeypatch.setattr(pairs, "_HELD_NUMBERS", 0)
    monkeypatch.setattr(binary_mkl, "_PART_NUMBERS", 600)
    BinaryMKL(C=10.0).weights(bank, y, np.random.RandomState(0))
    assert max(sizes) <= 600


def test_a_part_of_the_samples_first_changes_nothing_but_the_way(monkeypatch):
    bank, matrices, y = blobs(3, n=40)
    whole = BinaryMKL(C=50.0, tol=1e-6).weights(bank, y, np.random.RandomState(0))
    monkeypatch.setattr(pairs, "_HELD_NUMBERS", 0)
    monkeypatch.setattr(binary_mkl, "_PART_NUMBERS", 6 * 200)
    by_part = BinaryMKL(C=50.0, tol=1e-6).weights(bank, y, np.random.RandomState(0))
    np.testing.assert_allclose(by_part, whole, atol=2e-3)


def all_pairs(chosen, bank):
    """[(label, weight, point)] of all chunks."""
    chunks = chosen.each(lambda chunk: chunk)
    return tuple(np.concatenate([getattr(one, name) for one in chunks], axis=-1) for name in chunks[0]._fields)


@pytest.mark.parametrize("numbers", [100, 1 << 21])
@pytest.mark.parametrize("sizes", [[4, 4, 4, 4], [9, 2, 2], [6, 6], [12, 3]])
def test_the_subsample_has_as_many_pairs_of_both_labels(monkeypatch, sizes, numbers):
    monkeypatch.setattr(pairs, "_TILE_NUMBERS", numbers)
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = len(y)
    marks = np.arange(n * n, dtype=float).reshape(n, n)  # a matrix whose entries name their place
    bank = bank_of(random_kernels(n, 2, seed=0))
    places = np.minimum(marks, marks.T)
    monkeypatch.setattr(bank, "blocks", lambda rows, cols: np.stack([places[rows, cols]] * 2))
    n_draws = BinaryMKL(balanced="subsample")._n_draws(np.array(sizes))
    drawn = Pairs(bank, y, n_draws=n_draws, seed=3)
    points, labels, weights = all_pairs(drawn, bank)
    assert np.count_nonzero(labels > 0) == np.count_nonzero(labels < 0) == n_draws
    assert len(np.unique(points[0])) == 2 * n_draws  # without replacement
    i, j = np.divmod(points[0].astype(int), n)
    np.testing.assert_array_equal(labels > 0, y[i] == y[j])
    assert weights[labels > 0].sum() == pytest.approx(0.5) and weights.sum() == pytest.approx(1.0)
    own = weights[(labels > 0) & (i != j)]
    assert np.all(own == own[0]) and np.all(weights[i == j] == own[0] / 2)
    again, others = (all_pairs(Pairs(bank, y, n_draws=n_draws, seed=seed), bank)[0] for seed in (3, 4))
    np.testing.assert_array_equal(again, points)
    if min(sizes) != max(sizes) or len(sizes) > 2:
        assert not np.array_equal(np.sort(others[0]), np.sort(points[0]))


def test_every_pair_is_as_likely_to_be_drawn():
    y = np.repeat([0, 1, 2], 6)
    bank = bank_of(random_kernels(18, 1, seed=0))
    marks = np.arange(324.0).reshape(18, 18)
    bank.blocks = lambda rows, cols: marks[rows, cols][None]
    seen = np.zeros(324)
    for seed in range(400):
        points, labels, _ = all_pairs(Pairs(bank, y, n_draws=27, seed=seed), bank)
        seen[points[0][labels < 0].astype(int)] += 1
    counts = seen.reshape(18, 18)[np.triu(~np.equal.outer(y, y))]
    assert counts.sum() == 400 * 27 and abs(counts - 100).max() < 50  # 100 on average, deviation 9


def test_the_same_seed_draws_the_same_pairs():
    bank, _, y = blobs(5, n=40)
    method = BinaryMKL(C=20.0, balanced="subsample", n_pairs=200)
    first, second, third = (method.weights(bank, y, np.random.RandomState(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, third)


def test_the_subsample_comes_near_to_all_pairs():
    bank, _, y = blobs(4, n=120)
    whole = BinaryMKL(C=20.0).weights(bank, y, np.random.RandomState(0))
    drawn = BinaryMKL(C=20.0, balanced="subsample").weights(bank, y, np.random.RandomState(0))
    np.testing.assert_allclose(drawn, whole, atol=0.05)


def test_kernels_in_float32():
    _, matrices, y = blobs(3)
    rounded = [K.astype(np.float32) for K in matrices]
    exact = [K.astype(np.float64) for K in rounded]
    w = pair_weights(y, True)
    best, _ = solved_by_cvxpy(exact, y, w, 30.0)
    found = minimise(Pairs(bank_of(rounded, "float32"), y), 30.0, 1e-5, np.zeros(len(rounded)))
    assert objective(found.weights, exact, y, w, 30.0) == pytest.approx(best, rel=2e-5)


@pytest.mark.filterwarnings("ignore:.*is zero or constant")
def test_kernels_that_tell_nothing():
    _, matrices, y = blobs(3)
    zero = np.zeros((N, N))
    weights = BinaryMKL().weights(bank_of([matrices[0], zero, matrices[1]]), y, np.random.RandomState(0))
    assert weights[1] == 0.0 and weights.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(BinaryMKL().weights(bank_of([zero, zero]), y, np.random.RandomState(0)), [0.5, 0.5])


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (BinaryMKL(C=0.0), "C of BinaryMKL is 0.0, expected a positive number"),
        (BinaryMKL(balanced="yes"), "balanced of BinaryMKL is 'yes', expected True, False or"),
        (BinaryMKL(n_pairs=100), "n_pairs of BinaryMKL is 100 with balanced=True, which takes all pairs"),
        (BinaryMKL(balanced="subsample", n_pairs=2), "n_pairs of BinaryMKL is 2, expected a whole number"),
        (BinaryMKL(tol=-1.0), "tol of BinaryMKL is -1.0, expected a positive number"),
    ],
)
def test_parameters_that_mean_nothing(method, sentence):
    bank, _, y = blobs(2)
    with pytest.raises(ValueError, match=sentence):
        method.weights(bank, y, np.random.RandomState(0))
