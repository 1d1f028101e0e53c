"""Newton's method on the weights: its second derivatives, its quadratic program, its optimum, its few iterations."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

from oracles.mkl_cases import LOSSES, PARAMETERS, REGULARIZERS, small_problem
from oracles.mkl_cvxpy import solve_mkl
from polykern.bank import build_bank
from polykern.kernels import RBF, OnColumns
from polykern.losses import Hinge
from polykern.problems import MKLProblem
from polykern.solvers import HessianMKL, SimpleMKL
from polykern.solvers.curvature import curvature_root
from polykern.solvers.run import Run
from polykern.solvers.simplex_quadratic import minimize_quadratic

SIMPLEX = REGULARIZERS["simplex"]


def run_on(problem):
    return Run(problem, tol=1e-12, max_iter=1, time_limit=None, callbacks=[])


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_curvature_is_the_difference_of_gradients(loss, intercept, n_outputs):
    """Central differences of -1/2 S at weights where F is twice differentiable, for every pair of kernels."""
    if loss == "one_class" and (n_outputs > 1 or not intercept):
        pytest.skip("one-class has one output, with a bias")
    problem, matrices = small_problem(
        loss, SIMPLEX, n=20, n_kernels=4, seed=11, intercept=intercept, n_outputs=n_outputs
    )
    run, weights, h = run_on(problem), np.array([0.3, 0.4, 0.1, 0.2]), 1e-5
    here = run.evaluate(weights, tol=1e-13)
    root = curvature_root(problem, here, np.arange(4))
    differences = np.empty((4, 4))
    for k in range(4):
        above, below = (run.evaluate(weights + s * h * np.eye(4)[k], near=here, tol=1e-13) for s in (1, -1))
        differences[k] = (above.gradient - below.gradient) / (2 * h)
    size = np.abs(differences).max()
    assert size > 0
    np.testing.assert_allclose(root.T @ root, differences, atol=1e-3 * size)


def test_curvature_of_machines_without_free_variables_is_zero():
    """C so small that every coefficient is at its bound: F is linear there."""
    problem, _ = small_problem("hinge", SIMPLEX, n=20, n_kernels=3, intercept=False)
    problem = MKLProblem(problem.bank, problem.targets, Hinge(), SIMPLEX, np.full((20, 1), 1e-6), False)
    here = run_on(problem).evaluate(np.full(3, 1 / 3), tol=1e-13)
    np.testing.assert_allclose(here.coef, 1e-6 * problem.targets)
    assert not curvature_root(problem, here, np.arange(3)).any()


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize(("n", "rank"), [(1, 1), (2, 0), (6, 0), (8, 3), (60, 10), (60, 100)])
def test_quadratic_program_on_the_simplex(n, rank, scale):
    rng = np.random.default_rng(n + rank)
    root = rng.normal(size=(rank, n)) * 10.0 ** rng.uniform(-1, 1, size=n)
    slope = rng.normal(size=n) * max(1.0, np.sqrt(rank))
    x = cvxpy.Variable(n, nonneg=True)
    value = cvxpy.Minimize(slope @ x + 0.5 * cvxpy.sum_squares(root @ x))
    optimum = cvxpy.Problem(value, [cvxpy.sum(x) == 1]).solve(solver=cvxpy.CLARABEL)
    found = minimize_quadratic(scale * root.T @ root, scale * slope)
    assert found.min() >= 0 and found.sum() == pytest.approx(1.0)
    reached = slope @ found + 0.5 * np.sum((root @ found) ** 2)
    assert reached == pytest.approx(optimum, rel=1e-6, abs=1e-6 * np.abs(slope).max())


def test_a_quadratic_with_its_minimum_inside_keeps_small_weights():
    """Every x above 0, some by little: none of them may be taken for zero."""
    wanted = np.array([0.6, 0.3, 0.09, 0.009, 0.001])
    root = np.random.default_rng(0).normal(size=(5, 5))
    found = minimize_quadratic(root.T @ root, -root.T @ root @ wanted)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("loss", sorted(set(LOSSES) - {"one_class"}))
def test_optimum_is_that_of_cvxpy(loss, n_outputs):
    problem, matrices = small_problem(loss, SIMPLEX, n=24, n_kernels=8, seed=2, n_outputs=n_outputs, intercept=False)
    result = HessianMKL().solve(problem, tol=1e-7)
    assert result.status.converged, result
    optimum = solve_mkl(matrices, problem.targets, problem.costs, loss, 1, intercept=False, **PARAMETERS.get(loss, {}))
    assert result.primal == pytest.approx(optimum, rel=1e-6)


def feature_problem():
    """Three Gaussian widths on every one of 20 features and on all of them; two features matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 20))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 0] + 0.2 * rng.normal(size=150) > 0, 1.0, -1.0)
    widths = [0.1, 0.5, 2.0]
    kernels = [OnColumns(RBF(gamma=g), [j]) for j in range(20) for g in widths] + [RBF(gamma=g / 20) for g in widths]
    bank = build_bank(kernels, X, normalize="trace")
    return MKLProblem(bank, y[:, None], Hinge(), SIMPLEX, np.full((150, 1), 100.0), True)


def test_takes_fewer_iterations_and_machines_than_the_reduced_gradient():
    problem = feature_problem()
    newton, gradient = (solver().solve(problem, tol=1e-4) for solver in (HessianMKL, SimpleMKL))
    assert newton.status.converged and gradient.status.converged
    assert newton.primal == pytest.approx(gradient.primal, rel=1e-4)
    assert newton.n_iter < gradient.n_iter and newton.n_machines < gradient.n_machines


def test_weights_that_do_not_matter_are_exactly_zero():
    result = HessianMKL().solve(feature_problem(), tol=1e-5)
    assert 2 <= np.count_nonzero(result.weights) < 30
