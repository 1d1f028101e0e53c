"""MarginLP against the linear program with all its rows, and against cvxpy for other norms."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from oracles.kernel_margin import differences_by_loops, largest_margin, margins_by_loops
from oracles.mkl_cases import random_kernels
from polykern.bank import build_bank
from polykern.kernels import RBF, OnColumns, Precomputed
from polykern.regularizers.kernel_margin import KernelMargin
from polykern.regularizers.margin_range import margin_range
from polykern.weighting import MarginLP

STATE = np.random.RandomState(0)


def blobs(n_classes, n_kernels=9, n=36, seed=0):
    """(bank, matrices, y): one Gaussian kernel per column, the columns tell more or less about the class."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    centers = rng.normal(size=(n_classes, n_kernels)) * rng.uniform(0, 2, size=n_kernels)
    X = centers[y] + rng.normal(size=(n, n_kernels))
    kernels = [OnColumns(RBF(gamma=0.5), [k]) for k in range(n_kernels)]
    bank = build_bank(kernels, X, normalize="center-diagonal")
    return bank, bank.blocks(np.arange(n), np.arange(n)), y


def bank_of(kernels, dtype="float64"):
    return build_bank([Precomputed(K) for K in kernels], np.arange(len(kernels[0])), normalize=None, dtype=dtype)


def largest_on_ball(eta, y, q, objective):
    """max margin over b >= 0, |b|_q <= 1."""
    b = cp.Variable(len(eta), nonneg=True)
    others = np.arange(eta.shape[2]) != y[:, None]
    mixed = [eta[:, i, others[i]].T @ b for i in range(len(y))]
    margins = cp.hstack([cp.min(one) for one in mixed])
    margin = cp.sum(margins) / len(y) if objective == "mean" else cp.min(margins)
    return cp.Problem(cp.Maximize(margin), [cp.norm(b, q) <= 1]).solve(solver=cp.CLARABEL)


def value(eta, y, weights, objective="mean"):
    margins = margins_by_loops(eta, y, weights)
    return margins.mean() if objective == "mean" else margins.min()


@pytest.mark.parametrize("objective", ["mean", "minimum"])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_largest_margin_on_the_simplex(n_classes, objective, seed):
    bank, matrices, y = blobs(n_classes, seed=seed)
    eta = differences_by_loops(matrices, y)
    best, _ = largest_margin(eta, y, objective)
    weights = MarginLP(objective=objective).weights(bank, y, STATE)
    assert weights.min() >= 0 and weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert value(eta, y, weights, objective) == pytest.approx(best, rel=2e-6)


def without_a_margin():
    """Random labels on kernels of few features: no mixture has a positive mean margin."""
    y = np.random.default_rng(5).permutation(np.arange(24) % 4)
    kernels = random_kernels(24, 5, seed=5, rank=1)
    return bank_of(kernels), differences_by_loops(kernels, y), y


def test_margins_that_are_all_negative():
    bank, eta, y = without_a_margin()
    best, _ = largest_margin(eta, y)
    assert best < 0
    assert value(eta, y, MarginLP().weights(bank, y, STATE)) == pytest.approx(best, rel=2e-6)


@pytest.mark.parametrize("q", [1.2, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_largest_margin_on_the_ball(n_classes, q):
    bank, matrices, y = blobs(n_classes)
    eta = differences_by_loops(matrices, y)
    weights = MarginLP(q=q).weights(bank, y, STATE)
    assert weights.min() >= 0 and np.sum(weights**q) == pytest.approx(1.0, abs=1e-12)
    assert value(eta, y, weights) == pytest.approx(largest_on_ball(eta, y, q, "mean"), rel=1e-5)


def test_the_largest_minimum_on_the_ball():
    """Classes far apart: even the worst sample has a positive margin."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    X = 6.0 * np.eye(3)[y][:, [0, 1, 2, 0, 1]] + rng.normal(size=(24, 5))
    bank = build_bank([OnColumns(RBF(gamma=0.1), [k, (k + 1) % 5]) for k in range(5)], X)
    eta = differences_by_loops(bank.blocks(np.arange(24), np.arange(24)), y)
    best = largest_on_ball(eta, y, 2.0, "minimum")
    assert best > 0
    weights = MarginLP(q=2.0, objective="minimum").weights(bank, y, STATE)
    assert value(eta, y, weights, "minimum") == pytest.approx(best, rel=1e-5)


def test_without_a_positive_margin_other_norms_scale_the_weights_of_q_1():
    bank, _, y = without_a_margin()
    with pytest.warns(UserWarning, match="no mixture of these kernels has a positive mean margin"):
        weights = MarginLP(q=2.0).weights(bank, y, STATE)
    sparse = MarginLP().weights(bank, y, STATE)
    np.testing.assert_allclose(weights, sparse / np.linalg.norm(sparse))


def test_two_classes_take_the_best_single_kernel():
    bank, matrices, y = blobs(2)
    singles = [value(differences_by_loops(matrices, y), y, single) for single in np.eye(len(matrices))]
    np.testing.assert_array_equal(MarginLP().weights(bank, y, STATE), np.eye(len(matrices))[np.argmax(singles)])


def test_the_range_of_margins():
    bank, matrices, y = blobs(5)
    eta = differences_by_loops(matrices, y)
    found = margin_range(KernelMargin(bank, y))
    singles = [value(eta, y, single) for single in np.eye(len(matrices))]
    assert found.lowest == pytest.approx(min(singles), abs=1e-12)
    assert found.highest == pytest.approx(value(eta, y, found.weights), abs=1e-12)
    best = largest_margin(eta, y)[0]
    assert found.highest <= best + 1e-12 and best <= found.bound + 1e-9
    assert found.bound - found.highest <= 1e-6 * abs(found.highest)
    assert found.at(0.0) == found.lowest and found.at(1.0) == pytest.approx(found.highest)
    for weights in np.random.default_rng(0).dirichlet(np.ones(len(matrices)), size=20):
        assert found.lowest <= value(eta, y, weights) <= np.min(found.slopes @ weights) + 1e-12


def test_the_same_weights_again():
    bank, _, y = blobs(4)
    for q in (1.0, 1.5):
        first, second = (MarginLP(q=q).weights(bank, y, np.random.RandomState(seed)) for seed in (0, 1))
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("q", [1.0, 2.0])
def test_kernels_in_float32(q):
    _, matrices, y = blobs(4)
    rounded = [K.astype(np.float32) for K in matrices]
    eta = differences_by_loops([K.astype(np.float64) for K in rounded], y)
    weights = MarginLP(q=q).weights(bank_of(rounded, "float32"), y, STATE)
    exact = MarginLP(q=q).weights(bank_of([K.astype(np.float64) for K in rounded]), y, STATE)
    assert weights.dtype == np.float64
    assert value(eta, y, weights) == pytest.approx(value(eta, y, exact), rel=2e-5)


@pytest.mark.filterwarnings("ignore:.*is zero or constant")
@pytest.mark.parametrize("q", [1.0, 2.0])
def test_a_kernel_that_is_zero_has_no_weight(q):
    bank, _, y = blobs(3)
    matrices = random_kernels(36, 3, seed=1, rank=1)
    with_zero = bank_of([matrices[0], np.zeros((36, 36)), matrices[1]])
    labels = np.random.default_rng(1).permutation(y)
    assert MarginLP().weights(with_zero, labels, STATE)[1] == 0.0
    far = bank_of([*(K for K in bank.blocks(np.arange(36), np.arange(36))), np.zeros((36, 36))])
    assert MarginLP(q=q).weights(far, y, STATE)[-1] == 0.0
    nothing = bank_of([np.zeros((36, 36))] * 2)
    np.testing.assert_array_equal(MarginLP(q=1.0).weights(nothing, y, STATE), [0.5, 0.5])


@pytest.mark.parametrize(
    ("weighting", "sentence"),
    [
        (MarginLP(q=0.5), "q of MarginLP is 0.5, expected a number from 1 to below infinity"),
        (MarginLP(q=np.inf), "q of MarginLP is inf"),
        (MarginLP(q="2"), "q of MarginLP is '2'"),
        (MarginLP(objective="max"), 'objective of MarginLP is \'max\', expected "mean" or "minimum"'),
        (MarginLP(tol=0), "tol of MarginLP is 0, expected a positive number"),
    ],
)
def test_parameters_that_mean_nothing(weighting, sentence):
    bank, _, y = blobs(2, n_kernels=2)
    with pytest.raises(ValueError, match=sentence):
        weighting.weights(bank, y, STATE)
