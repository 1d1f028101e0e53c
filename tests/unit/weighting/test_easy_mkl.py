"""EasyMKL against cvxpy: its quadratic program, its weights, more than two classes; the solver behind it."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from oracles.machines import random_kernel, rbf_kernel
from oracles.mkl_cases import random_kernels
from polykern.bank import build_bank
from polykern.kernels import RBF, Linear, OnColumns, Precomputed
from polykern.machines import CombinedMatrix
from polykern.weighting import EasyMKL, hulls
from polykern.weighting.hulls import nearest_points

STATE = np.random.RandomState(0)


def bank_of(kernels, dtype="float64", **options):
    samples = np.arange(len(kernels[0]))
    return build_bank([Precomputed(K) for K in kernels], samples, normalize=None, dtype=dtype, **options)


def value(K, a, lam):
    return (1 - lam) * a @ K @ a + lam * a @ a


def solved_by_cvxpy(K, signs, lam):
    """(value, Y g) of the problem as the paper prints it."""
    n = len(K)
    g = cp.Variable(n, nonneg=True)
    root = np.linalg.cholesky((1 - lam) * K * np.outer(signs, signs) + lam * np.eye(n))
    sums = [cp.sum(g[signs > 0]) == 1, cp.sum(g[signs < 0]) == 1]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(root.T @ g)), sums)
    best = problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-10, tol_feas=1e-10)
    return best, signs * g.value


def signs_of(n, share=0.4, seed=0):
    signs = np.where(np.random.default_rng(seed).random(n) < share, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    return signs


MATRICES = {
    "full rank": random_kernel(30, 60, seed=1),
    "low rank": random_kernel(30, 3, seed=2),
    "rbf": 5.0 * rbf_kernel(30, seed=3),
    "far from 0": random_kernel(30, 4, seed=4) + 10.0,
}


@pytest.mark.parametrize("lam", [0.001, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("share", [0.4, 0.0])  # 0.0: one sample against all others
@pytest.mark.parametrize("name", MATRICES)
def test_the_quadratic_program(name, share, lam):
    K, signs = MATRICES[name], signs_of(30, share)
    best, _ = solved_by_cvxpy(K, signs, lam)
    a, gap = nearest_points(CombinedMatrix.from_array(K), signs, lam / (1 - lam), 1e-7)
    assert gap <= 1e-7
    assert np.all(signs * a >= 0) and a[signs > 0].sum() == pytest.approx(1) and a[signs < 0].sum() == pytest.approx(-1)
    assert value(K, a, lam) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("n_before", [0, 1, 1000])
def test_smo_and_newton_alone_and_together(monkeypatch, n_before):
    K, signs = 20.0 * rbf_kernel(60, seed=5, gamma=2.0), signs_of(60)
    best, _ = solved_by_cvxpy(K, signs, 0.05)
    monkeypatch.setattr(hulls, "_ROUNDS_BEFORE_NEWTON", n_before)
    a, _ = nearest_points(CombinedMatrix.from_array(K), signs, 0.05 / 0.95, 1e-6)
    assert value(K, a, 0.05) == pytest.approx(best, rel=2e-6)


def test_without_room_for_the_matrix():
    X = np.random.default_rng(0).normal(size=(150, 3))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
    kernels = [RBF(gamma=g) for g in (0.1, 1.0)]
    roomy, tight = (build_bank(kernels, X, memory=memory, n_jobs=1) for memory in ("1GB", 800_000))
    assert not tight.fits_combined
    weights, expected = (EasyMKL(tol=1e-8).weights(bank, y, STATE) for bank in (tight, roomy))
    np.testing.assert_allclose(weights, expected, rtol=1e-4)


def test_float32_and_a_gap_that_cannot_be_reached():
    K, signs = MATRICES["rbf"].astype(np.float32), signs_of(30)
    best, _ = solved_by_cvxpy(K.astype(np.float64), signs, 0.1)
    found = nearest_points(CombinedMatrix.from_array(K), signs, 0.1 / 0.9, 0.0)
    assert 0 <= abs(found.gap) < 1e-10
    assert value(K.astype(np.float64), found.coef, 0.1) == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("lam", [0.01, 0.3])
def test_weights_of_two_classes(lam):
    kernels, signs = random_kernels(24, 5, seed=6), signs_of(24)
    _, a = solved_by_cvxpy(sum(kernels), signs, lam)
    forms = np.array([a @ K @ a for K in kernels])
    weights = EasyMKL(lam=lam, tol=1e-9).weights(bank_of(kernels), (signs > 0).astype(int), STATE)
    np.testing.assert_allclose(weights, forms / forms.sum(), atol=1e-5)
    other_names = EasyMKL(lam=lam, tol=1e-9).weights(bank_of(kernels), (signs < 0).astype(int), STATE)
    np.testing.assert_allclose(other_names, weights, atol=1e-6)


@pytest.mark.parametrize("at_once", [1, 1 << 24])
def test_more_classes_average_each_against_the_others(monkeypatch, at_once):
    from polykern.weighting import easy_mkl

    monkeypatch.setattr(easy_mkl, "_SCORES_AT_ONCE", at_once)
    kernels = random_kernels(24, 5, seed=7)
    y = np.random.default_rng(0).permutation(np.arange(24) % 4)
    expected = np.zeros(5)
    for label in range(4):
        _, a = solved_by_cvxpy(sum(kernels), np.where(y == label, 1.0, -1.0), 0.1)
        forms = np.array([a @ K @ a for K in kernels])
        expected += forms / forms.sum() / 4
    weights = EasyMKL(lam=0.1, tol=1e-9).weights(bank_of(kernels), y, STATE)
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    np.testing.assert_array_equal(weights, EasyMKL(lam=0.1, tol=1e-9).weights(bank_of(kernels), y, STATE))


def test_the_largest_lam_compares_class_means():
    kernels, y = random_kernels(20, 4, seed=8), np.arange(20) % 2
    a = np.where(y == 1, 0.1, -0.1)
    forms = np.array([a @ K @ a for K in kernels])
    np.testing.assert_allclose(EasyMKL(lam=1.0).weights(bank_of(kernels), y, STATE), forms / forms.sum())
    near = EasyMKL(lam=1 - 1e-6).weights(bank_of(kernels), y, STATE)
    np.testing.assert_allclose(near, forms / forms.sum(), atol=1e-4)


def test_kernels_in_float32():
    rounded = [K.astype(np.float32) for K in random_kernels(24, 5, seed=6)]
    exact = [K.astype(np.float64) for K in rounded]
    y = np.arange(24) % 3
    first, second = (
        EasyMKL().weights(bank_of(rounded, "float32"), y, STATE),
        EasyMKL().weights(bank_of(exact), y, STATE),
    )
    assert first.dtype == np.float64
    np.testing.assert_allclose(first, second, atol=2e-3)


@pytest.mark.filterwarnings("ignore:.*is zero or constant")
def test_kernels_that_tell_nothing():
    K, zero = random_kernels(12, 1, seed=0)[0], np.zeros((12, 12))
    y = np.arange(12) % 2
    np.testing.assert_array_equal(EasyMKL().weights(bank_of([K, zero]), y, STATE), [1.0, 0.0])
    np.testing.assert_array_equal(EasyMKL().weights(bank_of([zero, zero]), y, STATE), [0.5, 0.5])


def test_a_gap_that_is_left_is_said(monkeypatch):
    monkeypatch.setattr(hulls, "_MOST_ROUNDS", 0)
    X = np.random.default_rng(0).normal(size=(30, 2))
    bank = build_bank([OnColumns(Linear(), [0]), RBF()], X)
    with pytest.warns(ConvergenceWarning, match="EasyMKL ends at a relative gap of"):
        EasyMKL(lam=0.01).weights(bank, (X[:, 0] > 0).astype(int), STATE)


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (EasyMKL(lam=0.0), "lam of EasyMKL is 0.0, expected a number above 0 and at most 1"),
        (EasyMKL(lam=1.5), "lam of EasyMKL is 1.5"),
        (EasyMKL(lam="0.1"), "lam of EasyMKL is '0.1'"),
        (EasyMKL(tol=0), "tol of EasyMKL is 0, expected a positive number"),
    ],
)
def test_parameters_that_mean_nothing(method, sentence):
    with pytest.raises(ValueError, match=sentence):
        method.weights(bank_of(random_kernels(6, 2, seed=0)), np.arange(6) % 2, STATE)
