"""The machine of all classes against cvxpy, on kernels that couple all samples, and where there is little to hold."""

from __future__ import annotations

import time

import cvxpy as cp
import numpy as np
import pytest

from oracles.mkl_cvxpy import factor, optimal_value
from polykern.bank import build_bank
from polykern.kernels import RBF
from polykern.losses import MulticlassHinge
from polykern.machines import CombinedMatrix, CrammerSinger
from polykern.machines.leading import Leading
from polykern.problems.joint_machine import JointMachineProblem, rows_on_simplex


def problem_for(n, n_classes=4, C=1.0, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % n_classes)
    costs = np.full(n, C) if np.ndim(C) == 0 else np.asarray(C, dtype=float)
    return JointMachineProblem(MulticlassHinge(), np.eye(n_classes)[codes], costs)


def features(n, d, seed=1):
    return np.random.default_rng(seed).normal(size=(n, d))


def gaussian(n, gamma=0.1, dtype=np.float64):
    X = features(n, 5)
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=-1)).astype(dtype)


def solve(K, problem, tol=1e-8, **options):
    return CrammerSinger(**options).solve(CombinedMatrix.from_array(np.ascontiguousarray(K)), problem, tol=tol)


def optimum_of(K, problem):
    L = factor(K)
    W = cp.Variable((L.shape[1], problem.y.shape[1]))
    F = L @ W
    hinge = cp.max(F + 1 - problem.y, axis=1) - cp.sum(cp.multiply(problem.y, F), axis=1)
    return optimal_value(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(W) + problem.costs @ hinge)))


@pytest.mark.parametrize("working_set", [8, 2048])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("kind", ["gaussian", "linear", "identity", "rank one"])
def test_reaches_the_optimum_of_cvxpy(kind, C, working_set):
    n = 40
    X = features(n, 3)
    made = {"gaussian": gaussian(n), "linear": X @ X.T, "identity": np.eye(n), "rank one": X[:, :1] @ X[:, :1].T}
    problem = problem_for(n, C=C)
    found = solve(made[kind], problem, tol=1e-6, working_set=working_set)
    optimum = optimum_of(made[kind], problem)
    assert found.gap <= 1e-6
    assert found.dual <= optimum * (1 + 1e-7) and found.primal >= optimum * (1 - 1e-7)
    np.testing.assert_allclose(found.outputs, made[kind] @ found.coef, atol=1e-9)
    assert np.all(np.isfinite(problem.conjugates(found.coef)))


def test_costs_of_their_own_and_a_start():
    rng = np.random.default_rng(0)
    problem = problem_for(60, C=rng.choice([0.0, 1e-8, 0.1, 1.0], size=60))
    cold = solve(gaussian(60), problem, tol=1e-9)
    assert cold.gap <= 1e-9 and not cold.coef[problem.costs == 0].any()
    matrix = CombinedMatrix.from_array(gaussian(60))
    warm = CrammerSinger().solve(matrix, problem, coef=cold.coef, tol=1e-6)
    assert warm.n_iter == 0
    moved = CrammerSinger().solve(matrix, problem, coef=cold.coef + 0.1, tol=1e-6)
    assert moved.primal == pytest.approx(cold.primal, rel=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e-5])
def test_samples_that_are_nearly_nothing(scale):
    """Where the kernel of a sample with itself vanishes its part of the dual is linear, and moves all the same."""
    X = features(300, 5)
    X[:8] *= scale
    problem = problem_for(300)
    found = solve(X @ X.T, problem, tol=1e-6)
    assert found.gap <= 1e-6


@pytest.mark.parametrize("n", [40, 400])
def test_a_kernel_that_is_zero_or_constant(n):
    problem = problem_for(n)
    assert solve(np.zeros((n, n)), problem).primal == pytest.approx(n)
    constant = solve(np.ones((n, n)), problem, tol=1e-6)
    assert constant.gap <= 1e-6 and constant.primal == pytest.approx(n)


def test_ends_where_floating_point_does():
    """Squared lengths from 1e-8 to 1e8: no digits are left, and the machine says so instead of going on."""
    X = features(300, 5) * np.exp(3.0 * features(300, 1, seed=2))
    start = time.monotonic()
    found = solve((X @ X.T).astype(np.float32), problem_for(300, C=1e3), tol=1e-12)
    assert np.isfinite(found.gap) and time.monotonic() - start < 30.0


def test_more_samples_than_fit_into_a_block():
    problem = problem_for(500)
    small, whole = (solve(gaussian(500), problem, tol=1e-5, working_set=size) for size in (64, 2048))
    assert small.primal == pytest.approx(whole.primal, rel=2e-5)


def test_rows_that_are_computed_when_asked():
    n = 1200
    bank = build_bank([RBF(gamma=0.1)], features(n, 5), memory="10MB", normalize=None)
    assert not bank.fits_combined
    problem = problem_for(n)
    found = CrammerSinger(working_set=128).solve(CombinedMatrix(bank, [1.0]), problem, tol=1e-2)
    whole = solve(gaussian(n), problem, tol=1e-4)
    assert found.gap <= 1e-2 and found.primal == pytest.approx(whole.primal, rel=1.1e-2)


def test_a_deadline_keeps_what_is_reached():
    matrix, problem = CombinedMatrix.from_array(gaussian(300)), problem_for(300, C=100.0)
    found = CrammerSinger().solve(matrix, problem, tol=1e-12, deadline=time.monotonic())
    assert np.isfinite(found.gap) and found.gap > 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [100, 400])
def test_without_its_leading_directions_a_kernel_is_positive_and_small(n, dtype):
    K = gaussian(n, gamma=0.02, dtype=dtype)
    leading = Leading(CombinedMatrix.from_array(K), sharing=1.0)
    assert len(leading.removed) > 0 and np.all(leading.removed > 0)
    reduced = np.linalg.eigvalsh(leading.reduced(K.astype(np.float64), np.arange(n)))
    before = np.linalg.eigvalsh(K.astype(np.float64))
    assert reduced[0] > -1e-5 * before[-1] and reduced[-1] < 0.2 * before[-1]
    np.testing.assert_allclose(leading.vectors.T @ leading.vectors, np.eye(len(leading.removed)), atol=1e-10)


def test_few_rounds_on_kernels_that_are_not_centred():
    """The steps on a Gaussian kernel with entries near one: hundreds of rounds without the leading directions."""
    found = solve(gaussian(300, gamma=0.01), problem_for(300), tol=1e-3)
    assert found.gap <= 1e-3 and found.n_iter <= 60


def test_rows_on_the_simplex():
    points = np.random.default_rng(0).normal(size=(50, 6))
    found = rows_on_simplex(points)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.all(found >= 0)
    for point, nearest in zip(points, found, strict=True):
        for other in np.random.default_rng(1).dirichlet(np.ones(6), size=20):
            assert (point - nearest) @ (other - nearest) <= 1e-12
    np.testing.assert_array_equal(rows_on_simplex(found[:5]), found[:5])


@pytest.mark.parametrize("start", [np.zeros((3, 4)), np.full((40, 4), np.nan)])
def test_a_start_that_does_not_fit_is_refused(start):
    with pytest.raises(ValueError, match="coef"):
        CrammerSinger().solve(CombinedMatrix.from_array(gaussian(40)), problem_for(40), coef=start)
