"""Newton: the system, its preconditioner, the line search."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from oracles.machines import problem_for, random_kernel, rbf_kernel
from polykern import losses
from polykern.machines import CombinedMatrix, Newton
from polykern.machines.newton import _line_search
from polykern.machines.newton_system import NewtonSystem, pivoted_cholesky

SMOOTH = [losses.SquaredHinge(), losses.SmoothHinge(sigma=20.0), losses.Logistic(), losses.Squared()]
each_loss = pytest.mark.parametrize("loss", SMOOTH, ids=repr)


def test_squared_loss_is_ridge_regression_in_one_step():
    K, problem = rbf_kernel(80, seed=0), problem_for(losses.Squared(), 80, cost=2.0, fit_intercept=False)
    solution = Newton().solve(CombinedMatrix.from_array(K), problem, tol=1e-10)
    expected = KernelRidge(alpha=0.5 / 2.0, kernel="precomputed").fit(K, problem.y).predict(K)
    np.testing.assert_allclose(solution.outputs, expected, atol=1e-9)
    assert solution.n_iter == 1


@each_loss
@pytest.mark.parametrize("bias", [True, False])
def test_conjugate_gradients_reach_what_cholesky_reaches(loss, bias):
    K, problem = rbf_kernel(300, seed=1, gamma=4.0), problem_for(loss, 300, cost=50.0, fit_intercept=bias)
    matrix = CombinedMatrix.from_array(K)
    direct, iterative = (Newton(most_direct=m).solve(matrix, problem, tol=1e-8) for m in (4096, 0))
    assert max(direct.gap, iterative.gap) <= 1e-8
    assert iterative.primal == pytest.approx(direct.primal, rel=2e-8)


@each_loss
def test_large_costs(loss):
    K, problem = rbf_kernel(100, seed=2), problem_for(loss, 100, cost=1e4)
    solution = Newton().solve(CombinedMatrix.from_array(K), problem, tol=1e-8)
    assert -1e-12 <= solution.gap <= 1e-8


@pytest.mark.parametrize("most_direct", [0, 4096])
@pytest.mark.parametrize("seed", range(5))
def test_system_solves_its_equations(most_direct, seed):
    random = np.random.default_rng(seed)
    K = random_kernel(30, 12, seed)
    curvature = np.where(random.random(30) < 0.6, random.uniform(0.1, 50, size=30), 0.0)
    residual = random.normal(size=30)
    p, s = NewtonSystem(CombinedMatrix.from_array(K), most_direct).solve(curvature, residual, True)
    np.testing.assert_allclose(p + curvature * (K @ p), residual, atol=1e-6)
    np.testing.assert_allclose(s + curvature * (K @ s), curvature, atol=1e-5)


def test_system_without_curvature_is_the_identity():
    residual = np.arange(5.0)
    p, s = NewtonSystem(CombinedMatrix.from_array(np.eye(5)), 4096).solve(np.zeros(5), residual, True)
    np.testing.assert_array_equal(p, residual)
    np.testing.assert_array_equal(s, 0.0)


def test_pivoted_cholesky_finds_the_rank():
    K = random_kernel(40, 6, seed=3)
    factor = pivoted_cholesky(CombinedMatrix.from_array(K), 20)
    assert factor.shape[1] <= 8
    np.testing.assert_allclose(factor @ factor.T, K, atol=1e-9)


def test_line_search_shortens_a_step_that_goes_too_far():
    assert _line_search(lambda t: t - 1.0) == 1.0
    assert _line_search(lambda t: 10.0 * t - 1.0) == pytest.approx(0.1, abs=0.02)
    assert _line_search(lambda t: np.exp(40 * t) - 2.0) == pytest.approx(np.log(2) / 40, abs=0.003)
