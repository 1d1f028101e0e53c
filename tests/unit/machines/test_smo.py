"""SMO against scikit-learn, against plain loops, and piece by piece."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC, SVR, OneClassSVM

from oracles.machines import plain_smo, problem_for, rbf_kernel
from polykern import losses
from polykern.machines import SMO, CombinedMatrix
from polykern.machines.base import certify
from polykern.machines.decomposition import Descent, choose_working_set
from polykern.machines.smo_core import Box, Point, _step_length, fill_offsets, gap_and_bias, pair_steps
from polykern.problems.machine import MachineProblem

PIECEWISE_LINEAR = [losses.Hinge(), losses.EpsilonInsensitive(epsilon=0.3), losses.OneClass(nu=0.4)]
each_loss = pytest.mark.parametrize("loss", PIECEWISE_LINEAR, ids=repr)


def objective_of(model, K, problem):
    coef = np.zeros(len(K))
    coef[model.support_] = model.dual_coef_[0]
    return problem.dual(problem.feasible(coef), K @ problem.feasible(coef))


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_svc(C, dtype):
    K, y = rbf_kernel(150, seed=1, dtype=dtype), problem_for(losses.Hinge(), 150).y
    problem = MachineProblem(losses.Hinge(), y, np.full(150, C), True)
    solution = SMO().solve(CombinedMatrix.from_array(K), problem, tol=1e-9)
    model = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
    np.testing.assert_allclose(solution.outputs + solution.intercept, model.decision_function(K), atol=1e-4)
    assert solution.dual == pytest.approx(objective_of(model, K.astype(np.float64), problem), rel=1e-7)


def test_equals_svc_with_sample_weights():
    problem = problem_for(losses.Hinge(), 120, weighted=True)
    K, kept = rbf_kernel(120, seed=2), problem.costs > 0
    solution = SMO().solve(CombinedMatrix.from_array(K), problem, tol=1e-9)
    model = SVC(C=1.0, kernel="precomputed", tol=1e-8)
    model.fit(K[np.ix_(kept, kept)], problem.y[kept], sample_weight=problem.costs[kept])
    expected = model.decision_function(K[:, kept])
    np.testing.assert_allclose(solution.outputs + solution.intercept, expected, atol=1e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_equals_svr(epsilon):
    loss = losses.EpsilonInsensitive(epsilon=epsilon)
    K, problem = rbf_kernel(120, seed=3), problem_for(loss, 120, cost=2.0)
    solution = SMO().solve(CombinedMatrix.from_array(K), problem, tol=1e-9)
    model = SVR(C=2.0, epsilon=epsilon, kernel="precomputed", tol=1e-8).fit(K, problem.y)
    np.testing.assert_allclose(solution.outputs + solution.intercept, model.predict(K), atol=1e-4)
    assert solution.dual == pytest.approx(objective_of(model, K, problem), rel=1e-7)


@pytest.mark.parametrize("nu", [0.1, 0.5, 0.9])
def test_equals_one_class_svm(nu):
    n, loss = 97, losses.OneClass(nu=nu)  # nu n is no integer: some variable is free, the bias unique
    K, problem = rbf_kernel(n, seed=4), problem_for(loss, n)
    solution = SMO().solve(CombinedMatrix.from_array(K), problem, tol=1e-9)
    model = OneClassSVM(nu=nu, kernel="precomputed", tol=1e-8).fit(K)
    ours, theirs = nu * n * solution.outputs, model.decision_function(K) - model.intercept_
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    np.testing.assert_allclose(ours + nu * n * solution.intercept, model.decision_function(K), atol=1e-4)


@each_loss
@pytest.mark.parametrize("bias", [True, False])
def test_equals_plain_loops(loss, bias):
    if loss.needs_intercept and not bias:
        pytest.skip("one-class has a bias")
    K, problem = rbf_kernel(25, seed=5), problem_for(loss, 25, fit_intercept=bias, weighted=True)
    linear, kink = loss.linear_form(problem.y)
    start = problem.feasible(np.zeros(25))
    expected = plain_smo(K, linear, kink, *problem.bounds(), start, bias)
    solution = SMO().solve(CombinedMatrix.from_array(K), problem, tol=1e-10)
    np.testing.assert_allclose(solution.outputs, K @ expected, atol=1e-5)
    assert solution.dual == pytest.approx(problem.dual(expected, K @ expected), rel=1e-8)


@each_loss
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("working_set", [2, 16, 64])
@pytest.mark.parametrize("in_memory", [True, False])
def test_working_sets_do_not_change_the_optimum(loss, bias, working_set, in_memory, matrix_by_rows):
    if loss.needs_intercept and not bias:
        pytest.skip("one-class has a bias")
    K, problem = rbf_kernel(200, seed=6, gamma=3.0), problem_for(loss, 200, fit_intercept=bias)
    whole = SMO().solve(CombinedMatrix.from_array(K), problem, tol=1e-7)
    matrix = CombinedMatrix.from_array(K) if in_memory else matrix_by_rows(K, cached_rows=30)
    parts = SMO(working_set=working_set).solve(matrix, problem, tol=1e-5)
    assert -1e-12 <= parts.gap <= 1e-5
    assert parts.dual <= whole.primal and whole.dual <= parts.primal


@each_loss
def test_computed_rows_come_from_the_cache(loss, matrix_by_rows):
    K, problem = rbf_kernel(300, seed=7), problem_for(loss, 300)
    matrix = matrix_by_rows(K, cached_rows=300)
    SMO(working_set=40).solve(matrix, problem, tol=1e-4)
    assert matrix._cache.hits > 0 and matrix._cache.misses <= 300


def test_classes_in_order_and_out_of_balance():
    y = np.r_[np.ones(290), -np.ones(10)]
    K, problem = rbf_kernel(300, seed=8), MachineProblem(losses.Hinge(), y, np.full(300, 5.0), True)
    solution = SMO(working_set=16).solve(CombinedMatrix.from_array(K), problem, tol=1e-6)
    assert solution.gap <= 1e-6 and np.count_nonzero(solution.coef[y < 0]) > 0


def test_nu_1_has_one_feasible_point():
    K, problem = rbf_kernel(30, seed=9), problem_for(losses.OneClass(nu=1.0), 30)
    solution = SMO().solve(CombinedMatrix.from_array(K), problem, tol=1e-10)
    np.testing.assert_allclose(solution.coef, 1 / 30, rtol=1e-12)
    assert solution.gap <= 1e-10


def test_interrupt_between_chunks_reaches_the_caller(monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("polykern.machines.decomposition.pair_steps", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SMO().solve(CombinedMatrix.from_array(rbf_kernel(20, seed=0)), problem_for(losses.Hinge(), 20))


# -- piece by piece ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_step_length_is_the_minimum_along_the_step(seed):
    random = np.random.default_rng(seed)
    slope, curvature, room = -random.uniform(0.1, 3), random.uniform(0.1, 2), random.uniform(0.1, 3)
    kinks = np.where(random.random(2) < 0.7, random.uniform(0, 3, size=2), np.inf)
    jumps = random.uniform(0, 1.5, size=2)

    def value(t):
        return (
            slope * t
            + 0.5 * curvature * t**2
            + sum(jump * max(t - kink, 0.0) for jump, kink in zip(jumps, kinks, strict=True) if np.isfinite(kink))
        )

    best = _step_length(slope, curvature, room, kinks[0], jumps[0], kinks[1], jumps[1])
    assert 0.0 <= best <= room
    assert value(best) <= min(value(t) for t in np.linspace(0.0, room, 2001)) + 1e-12


@each_loss
def test_estimated_gap_is_the_certified_gap(loss):
    K, problem = rbf_kernel(60, seed=10), problem_for(loss, 60)
    for seed in range(5):
        coef = problem.feasible(np.random.default_rng(seed).normal(size=60))
        descent = Descent(CombinedMatrix.from_array(K), problem, coef.copy(), 1024)
        certified = certify(problem, coef, K @ coef, 0)
        assert descent.dual == pytest.approx(certified.dual, rel=1e-12)
        assert descent.gap == pytest.approx(certified.gap, rel=1e-6)


def test_steps_keep_the_sum_and_end_where_no_pair_violates():
    K, problem = rbf_kernel(40, seed=11), problem_for(losses.EpsilonInsensitive(epsilon=0.1), 40)
    descent = Descent(CombinedMatrix.from_array(K), problem, np.zeros(40), 1024)
    taken = pair_steps(K, descent.box, descent.point, 1_000_000)
    up = descent.point.gradient + descent.point.up_offset
    down = descent.point.gradient + descent.point.down_offset
    assert taken < 1_000_000 and down.max() - up.min() <= 1e-10
    assert abs(descent.point.coef.sum()) <= 1e-12
    np.testing.assert_allclose(descent.outputs, K @ descent.point.coef, atol=1e-11)


def test_slopes_are_one_sided_at_the_kink():
    coef, ones = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]), np.ones(5)
    box, point = Box(ones, -ones, ones, 0.2 * ones), Point(coef, np.zeros(5), np.empty(5), np.empty(5))
    fill_offsets(coef, box, point.up_offset, point.down_offset)
    np.testing.assert_array_equal(point.up_offset, [-0.2, -0.2, 0.2, 0.2, np.inf])
    np.testing.assert_array_equal(point.down_offset, [-np.inf, -0.2, -0.2, 0.2, 0.2])
    assert gap_and_bias(box, Point(np.zeros(5), *point[1:]), False) == (0.0, 0.0)


def test_working_set_holds_both_directions_and_the_free():
    n = 100
    coef = np.zeros(n)
    coef[40:50] = 0.5
    upper, lower = np.ones(n), np.r_[np.zeros(50), -np.ones(50)]
    box, point = Box(np.ones(n), lower, upper, np.zeros(n)), Point(coef, np.zeros(n), np.empty(n), np.empty(n))
    point.gradient[:] = np.linspace(-1, 1, n)
    fill_offsets(coef, box, point.up_offset, point.down_offset)
    chosen = choose_working_set(point, 0.0, 24, keep_all_free=False)
    assert len(chosen) == 24 and np.all(np.diff(chosen) > 0)
    assert {0, 1, 2} <= set(chosen) and {97, 98, 99} <= set(chosen)
