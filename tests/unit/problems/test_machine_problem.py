"""The single-kernel problem: exact bias, exact projection, weak duality, for every loss."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.mkl_cases import LOSSES, costs_for, random_kernels, targets_for
from oracles.mkl_cvxpy import solve_mkl
from polykern.problems import MachineProblem
from polykern.problems.machine import project_on_sum

names = st.sampled_from(sorted(LOSSES))


def machine_problem(name, n=12, seed=0, intercept=True):
    loss = LOSSES[name]
    y = targets_for(loss, n, seed)[:, 0]
    return MachineProblem(loss, y, costs_for(loss, y.shape, seed), intercept)


@given(names, st.integers(0, 10**6))
def test_best_intercept_beats_a_grid(name, seed):
    problem = machine_problem(name, seed=seed)
    outputs = np.random.default_rng(seed).normal(size=12) * 3
    best = problem.loss_sum(outputs, problem.best_intercept(outputs))
    grid = min(problem.loss_sum(outputs, b) for b in np.linspace(-15, 15, 601))
    assert best <= grid + 1e-10 * max(1, abs(grid))


def test_best_intercept_takes_the_middle_of_an_interval():
    problem = MachineProblem(LOSSES["hinge"], np.array([1.0, -1.0]), np.ones(2), True)
    assert problem.best_intercept(np.array([3.0, -4.0])) == pytest.approx(0.5)


def test_without_intercept_it_is_zero():
    assert machine_problem("hinge", intercept=False).best_intercept(np.arange(12.0)) == 0.0


@given(names, st.integers(0, 10**6), st.booleans())
@settings(max_examples=60)
def test_feasible_is_feasible_and_weak_duality_holds(name, seed, intercept):
    problem = machine_problem(name, seed=seed, intercept=intercept or name == "one_class")
    rng = np.random.default_rng(seed)
    a = problem.feasible(rng.normal(size=12) * 2)
    lower, upper = problem.bounds()
    assert np.all((a >= lower) & (a <= upper))
    if problem.fit_intercept:
        assert a.sum() == pytest.approx(problem.loss.bias_sum, abs=1e-12)
    K = random_kernels(12, 1, seed)[0]
    other = rng.normal(size=12)
    bias = float(rng.normal()) if problem.fit_intercept else 0.0
    assert problem.primal(other, K @ other, bias) >= problem.dual(a, K @ a) - 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_projection_against_cvxpy(seed):
    rng = np.random.default_rng(seed)
    lower, upper = -rng.uniform(0, 1, 8), rng.uniform(0, 1, 8)
    point, total = rng.normal(size=8) * 2, rng.uniform(-0.5, 0.5)
    a = cp.Variable(8)
    distance = cp.Problem(cp.Minimize(cp.sum_squares(a - point)), [a >= lower, a <= upper, cp.sum(a) == total]).solve(
        solver=cp.CLARABEL
    )
    ours = project_on_sum(point, lower, upper, total)
    assert ours.sum() == pytest.approx(total, abs=1e-14)
    assert np.sum((ours - point) ** 2) == pytest.approx(distance, rel=1e-6)


def test_projection_that_is_impossible_says_so():
    with pytest.raises(ValueError, match="two classes"):
        project_on_sum(np.ones(3), np.full(3, 0.5), np.ones(3), 0.0)


def test_a_cost_of_zero_allows_no_dual_variable():
    problem = MachineProblem(LOSSES["logistic"], np.array([1.0, -1.0, 1.0]), np.array([1.0, 1.0, 0.0]), True)
    assert problem.feasible(np.array([0.3, -0.4, 0.7]))[2] == 0.0
    assert problem.dual(np.array([0.1, -0.2, 0.1]), np.zeros(3)) == -np.inf


@pytest.mark.parametrize("name", sorted(LOSSES))
@pytest.mark.parametrize("intercept", [True, False])
def test_optimum_of_cvxpy_lies_between_the_bounds(name, intercept):
    """A dual point and its primal partner enclose the optimum computed elsewhere."""
    problem = machine_problem(name, intercept=intercept or name == "one_class")
    K = random_kernels(12, 1, 3)[0]
    parameters = {"smooth_hinge": {"sigma": 5.0}, "epsilon_insensitive": {"epsilon": 0.2}}.get(name, {})
    optimum = solve_mkl([K], problem.y, problem.costs, name, 2, intercept=problem.fit_intercept, **parameters)
    a = problem.feasible(np.random.default_rng(0).normal(size=12))
    outputs = K @ a
    assert problem.dual(a, outputs) <= optimum + 1e-7
    assert problem.primal(a, outputs, problem.best_intercept(outputs)) >= optimum - 1e-7
