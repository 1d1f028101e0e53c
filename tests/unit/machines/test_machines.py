"""What every machine promises, checked for every loss: the optimum, its certificate, and every way to reach it."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.machines import cvxpy_optimum, problem_for, random_kernel, rbf_kernel
from polykern import losses
from polykern.machines import SMO, CombinedMatrix, Newton, machine_for
from polykern.problems.machine import MachineProblem

LOSSES = [
    losses.Hinge(),
    losses.EpsilonInsensitive(epsilon=0.2),
    losses.EpsilonInsensitive(epsilon=0.0),
    losses.OneClass(nu=0.3),
    losses.SquaredHinge(),
    losses.SmoothHinge(sigma=5.0),
    losses.Logistic(),
    losses.Squared(),
]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
BIASED_AND_NOT = [(loss, bias) for loss in LOSSES for bias in (True, False) if bias or not loss.needs_intercept]


def assert_certified(K, problem, solution, tol):
    """Feasible, outputs = K a, and bounds that are those of the problem, no more than tol apart."""
    lower, upper = problem.bounds()
    assert np.all(solution.coef >= lower) and np.all(solution.coef <= upper)
    if problem.fit_intercept:
        assert abs(solution.coef.sum() - problem.loss.bias_sum) <= 1e-12 * max(1.0, np.abs(solution.coef).sum())
    else:
        assert solution.intercept == 0.0
    outputs = K.astype(np.float64) @ solution.coef
    np.testing.assert_allclose(solution.outputs, outputs, atol=1e-10 * max(1.0, np.abs(outputs).max()))
    assert solution.primal == problem.primal(solution.coef, solution.outputs, solution.intercept)
    assert solution.dual == problem.dual(solution.coef, solution.outputs)
    apart, rounding = (
        solution.primal - solution.dual,
        1e-12 * float(problem.costs.sum()) * (1.0 + np.abs(outputs).max()),
    )
    assert -rounding <= apart <= tol * abs(solution.primal) + rounding


@pytest.mark.parametrize(("loss", "bias"), BIASED_AND_NOT, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_reaches_the_optimum_of_cvxpy(loss, bias, weighted, make_problem):
    K, problem = rbf_kernel(40, seed=3), make_problem(loss, 40, fit_intercept=bias, weighted=weighted)
    solution = machine_for(loss).solve(CombinedMatrix.from_array(K), problem, tol=1e-9)
    assert_certified(K, problem, solution, 1e-9)
    expected = cvxpy_optimum(K, problem)
    assert solution.primal == pytest.approx(expected, rel=1e-6, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(
    case=st.sampled_from(BIASED_AND_NOT),
    n=st.integers(2, 50),
    rank=st.integers(1, 60),
    seed=st.integers(0, 10_000),
    cost=st.sampled_from([0.01, 1.0, 100.0]),
    weighted=st.booleans(),
)
def test_certificate_on_random_problems(case, n, rank, seed, cost, weighted):
    loss, bias = case
    K = random_kernel(n, rank, seed)
    problem = problem_for(loss, n, seed, cost, bias, weighted and n > 4)
    matrix = CombinedMatrix.from_array(K)
    cold = machine_for(loss).solve(matrix, problem, tol=1e-6)
    assert_certified(K, problem, cold, 1e-6)
    start = np.random.default_rng(seed).normal(size=n)
    warm = machine_for(loss).solve(matrix, problem, coef=start, tol=1e-6)
    assert_certified(K, problem, warm, 1e-6)
    assert warm.primal == pytest.approx(cold.primal, rel=2e-6, abs=1e-12 * float(problem.costs.sum()))


@each_loss
def test_from_its_own_solution_there_is_nothing_left_to_do(loss, make_problem):
    K, problem = rbf_kernel(60, seed=1), make_problem(loss, 60)
    matrix = CombinedMatrix.from_array(K)
    first = machine_for(loss).solve(matrix, problem, tol=1e-8)
    again = machine_for(loss).solve(matrix, problem, coef=first.coef, intercept=first.intercept, tol=1e-6)
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.coef, first.coef)


@each_loss
def test_the_start_is_left_as_it_was(loss, make_problem):
    K, problem = rbf_kernel(30, seed=1), make_problem(loss, 30)
    start = np.full(30, 0.1)
    machine_for(loss).solve(CombinedMatrix.from_array(K), problem, coef=start)
    np.testing.assert_array_equal(start, 0.1)


@each_loss
@pytest.mark.parametrize("cached_rows", [0, 12, 70])
def test_row_by_row_gives_the_solution_of_the_whole_matrix(loss, cached_rows, make_problem, matrix_by_rows):
    K, problem = rbf_kernel(70, seed=2, gamma=2.0), make_problem(loss, 70)
    whole = machine_for(loss).solve(CombinedMatrix.from_array(K), problem, tol=1e-8)
    by_rows = machine_for(loss).solve(matrix_by_rows(K, cached_rows), problem, tol=1e-8)
    assert_certified(K, problem, by_rows, 1e-8)
    assert by_rows.primal == pytest.approx(whole.primal, rel=2e-8)
    z, expected = by_rows.outputs + by_rows.intercept, whole.outputs + whole.intercept
    np.testing.assert_allclose(z, expected, atol=1e-3 * np.abs(expected).max())


@each_loss
def test_float32_reaches_what_it_is_asked_for(loss, make_problem):
    K, problem = rbf_kernel(80, seed=4, dtype=np.float32), make_problem(loss, 80)
    for tol in (1e-4, 1e-8):
        assert_certified(K, problem, machine_for(loss).solve(CombinedMatrix.from_array(K), problem, tol=tol), tol)


@each_loss
def test_weight_is_repetition(loss, make_problem):
    n = 30
    K, problem = rbf_kernel(n, seed=6), make_problem(loss, n)
    counts = np.where(np.arange(n) % 3 == 0, 2, 1)
    weighted = MachineProblem(loss, problem.y, problem.costs * counts, True)
    repeated = np.repeat(np.arange(n), counts)
    longer = MachineProblem(loss, problem.y[repeated], problem.costs[repeated], True)
    machine = machine_for(loss)
    first = machine.solve(CombinedMatrix.from_array(K), weighted, tol=1e-9)
    second = machine.solve(CombinedMatrix.from_array(K[np.ix_(repeated, repeated)]), longer, tol=1e-9)
    assert first.primal == pytest.approx(second.primal, rel=1e-8)


@each_loss
def test_order_of_samples_does_not_matter(loss, make_problem):
    K, problem = rbf_kernel(40, seed=7), make_problem(loss, 40)
    order = np.random.default_rng(0).permutation(40)
    shuffled = MachineProblem(loss, problem.y[order], problem.costs[order], True)
    machine = machine_for(loss)
    first = machine.solve(CombinedMatrix.from_array(K), problem, tol=1e-9)
    second = machine.solve(CombinedMatrix.from_array(K[np.ix_(order, order)]), shuffled, tol=1e-9)
    assert first.primal == pytest.approx(second.primal, rel=1e-8)


@each_loss
def test_a_sample_of_cost_0_is_not_there(loss, make_problem):
    K, problem = rbf_kernel(40, seed=8), make_problem(loss, 40)
    kept = np.arange(40) % 4 != 1
    scale = 2.0 if loss.bias_sum else 1.0  # one-class: what is left must still be able to sum to 1
    costs = np.where(kept, scale * problem.costs, 0.0)
    machine = machine_for(loss)
    solution = machine.solve(CombinedMatrix.from_array(K), MachineProblem(loss, problem.y, costs, True), tol=1e-9)
    assert np.all(solution.coef[~kept] == 0.0)
    smaller = MachineProblem(loss, problem.y[kept], costs[kept], True)
    alone = machine.solve(CombinedMatrix.from_array(K[np.ix_(kept, kept)]), smaller, tol=1e-9)
    assert solution.primal == pytest.approx(alone.primal, rel=1e-8)


@each_loss
def test_a_kernel_of_zeros_leaves_the_bias(loss, make_problem):
    problem = make_problem(loss, 20)
    solution = machine_for(loss).solve(CombinedMatrix.from_array(np.zeros((20, 20))), problem, tol=1e-9)
    assert_certified(np.zeros((20, 20)), problem, solution, 1e-9)
    assert np.all(solution.outputs == 0.0)


@each_loss
@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_two_and_three_samples(loss, n, make_problem):
    K, bias = rbf_kernel(n, seed=9), loss.needs_intercept or loss.targets == "real"
    problem = MachineProblem(loss, np.ones(n), make_problem(loss, n).costs, bias)
    assert_certified(K, problem, machine_for(loss).solve(CombinedMatrix.from_array(K), problem, tol=1e-8), 1e-8)


@each_loss
def test_identical_samples(loss, make_problem):
    K, problem = np.ones((30, 30)), make_problem(loss, 30)
    assert_certified(K, problem, machine_for(loss).solve(CombinedMatrix.from_array(K), problem, tol=1e-8), 1e-8)


@each_loss
def test_matrix_indefinite_by_rounding(loss, make_problem):
    noise = np.random.default_rng(0).normal(size=(60, 60)) * 1e-7
    K, problem = random_kernel(60, 5, 1) + 0.5 * (noise + noise.T), make_problem(loss, 60, cost=100.0)
    assert np.linalg.eigvalsh(K)[0] < -1e-7
    solution = machine_for(loss).solve(CombinedMatrix.from_array(K), problem, tol=1e-4)
    if loss.bias_sum:  # the optimum of one-class is 0 but for the noise in K: the bounds agree up to that noise
        assert 0.0 <= solution.primal - solution.dual <= 1e-7
    else:
        assert_certified(K, problem, solution, 1e-4)


@each_loss
def test_tol_0_stops_where_floating_point_ends(loss, make_problem):
    K, problem = rbf_kernel(50, seed=10), make_problem(loss, 50)
    solution = machine_for(loss).solve(CombinedMatrix.from_array(K), problem, tol=0.0)
    assert abs(solution.gap) <= 1e-11


@each_loss
def test_a_deadline_that_has_passed_returns_a_certified_point(loss, make_problem):
    K, problem = rbf_kernel(50, seed=11), make_problem(loss, 50)
    solution = machine_for(loss).solve(CombinedMatrix.from_array(K), problem, tol=1e-12, deadline=time.monotonic())
    assert solution.n_iter == 0
    assert_certified(K, problem, solution, np.inf)


@pytest.mark.parametrize("machine", [SMO(), Newton()], ids=repr)
def test_bad_input_is_told_apart(machine, make_problem):
    loss = losses.Hinge() if isinstance(machine, SMO) else losses.Logistic()
    matrix, problem = CombinedMatrix.from_array(rbf_kernel(10, seed=0)), make_problem(loss, 10)
    with pytest.raises(ValueError, match="problem has 12 targets but matrix is for 10 samples"):
        machine.solve(matrix, make_problem(loss, 12))
    with pytest.raises(ValueError, match=r"coef has shape \(9,\), expected one number per sample, \(10,\)"):
        machine.solve(matrix, problem, coef=np.zeros(9))
    with pytest.raises(ValueError, match="coef holds NaN"):
        machine.solve(matrix, problem, coef=np.full(10, np.nan))
    with pytest.raises(ValueError, match="tol is -1, expected a relative duality gap"):
        machine.solve(matrix, problem, tol=-1)
