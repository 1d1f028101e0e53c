"""M3K: against cvxpy with all rows of the margin written out, and what the paper says of gamma0."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from oracles.mkl_cases import small_problem
from oracles.mkl_cvxpy import factor, optimal_value
from polykern import MKLRegressor
from polykern.bank import build_bank
from polykern.kernels import RBF
from polykern.losses import Hinge, MulticlassHinge
from polykern.problems import MKLProblem
from polykern.regularizers import LpBall, MarginSimplex, Simplex
from polykern.regularizers.margin_range import margin_range
from polykern.solvers import M3K, MCMKL, SILP, Level, as_solver


def problem_for(gamma0, q=1.0, seed=7):
    return small_problem("multiclass", MarginSimplex(gamma0, q), n=30, n_kernels=6, seed=seed)


def optimum_of(problem, matrices, q=1.0):
    """The paper's problem (7): weights are variables, the margin has a row for every sample and other class."""
    Y, costs, inside = problem.targets, problem.costs[:, 0], problem.regularizer.margin_set
    factors = [factor(K) for K in matrices]
    W = [cp.Variable((L.shape[1], Y.shape[1])) for L in factors]
    b = cp.Variable(len(factors), nonneg=True)
    F = sum(L @ w for L, w in zip(factors, W, strict=True))
    eta = inside.margin.differences
    margins = cp.Variable(len(Y))
    rows = [eta[:, i, j] @ b >= margins[i] for i, j in np.argwhere(Y == 0)]
    weight_set = [cp.sum(b) == 1 if q == 1 else cp.pnorm(b, q, approx=False) <= 1]
    enough = [cp.sum(margins) >= len(Y) * inside.least]
    penalty = sum(0.5 * cp.quad_over_lin(w, b[k]) for k, w in enumerate(W))
    hinge = costs @ (cp.max(F + 1 - Y, axis=1) - cp.sum(cp.multiply(Y, F), axis=1))
    return optimal_value(cp.Problem(cp.Minimize(penalty + hinge), rows + weight_set + enough))


@pytest.mark.parametrize("solver", [M3K, Level, SILP])
@pytest.mark.parametrize("gamma0", ["40%", "95%", "99%"])
def test_reaches_the_optimum_of_cvxpy(solver, gamma0):
    problem, matrices = problem_for(gamma0)
    result = solver().solve(problem, tol=1e-6)
    assert result.status.converged and result.gap <= 1e-6
    assert result.primal == pytest.approx(optimum_of(problem, matrices), rel=1e-5)
    assert problem.regularizer.margin_set.contains(result.weights)
    recomputed = problem.certificate(_point(result), result.dual_coef)
    assert recomputed.primal == pytest.approx(result.primal, rel=1e-9)
    assert recomputed.dual == pytest.approx(result.dual, rel=1e-8)


@pytest.mark.parametrize("gamma0", ["40%", "98%"])
def test_weights_in_a_ball(gamma0):
    problem, matrices = problem_for(gamma0, q=2.0)
    result = M3K().solve(problem, tol=1e-4)
    optimum = optimum_of(problem, matrices, q=2.0)
    assert result.status.converged
    assert optimum * (1 - 1e-6) <= result.primal <= optimum * (1 + 1e-4)
    assert result.dual <= optimum * (1 + 1e-6)
    assert problem.regularizer.margin_set.contains(result.weights)


def test_without_a_condition_it_is_mc_mkl():
    free, _ = problem_for(None)
    assert isinstance(free.regularizer, Simplex)
    assert isinstance(problem_for(None, q=2.0)[0].regularizer, LpBall)
    one, two = M3K().solve(free, tol=1e-6), MCMKL().solve(free, tol=1e-6)
    assert one.primal == pytest.approx(two.primal, rel=2e-6)
    lowest, _ = problem_for("0%")
    assert M3K().solve(lowest, tol=1e-6).primal == pytest.approx(one.primal, rel=2e-6)


def test_at_the_largest_margin_the_weights_solve_the_linear_program():
    problem, _ = problem_for("max")
    inside = problem.regularizer.margin_set
    result = M3K().solve(problem, tol=1e-4)
    found = margin_range(inside.margin)
    assert inside.margin.mean(result.weights) >= found.bound - 2e-4 * (found.highest - found.lowest)


def test_the_objective_grows_with_gamma0():
    values = [M3K().solve(problem_for(gamma0)[0], tol=1e-6).primal for gamma0 in ("0%", "95%", "98%", "99.5%", "max")]
    assert all(after >= before * (1 - 1e-6) for before, after in zip(values, values[1:], strict=False))
    assert values[-1] > values[0] * 1.01


def test_gamma0_as_a_number_is_the_margin_itself():
    share, _ = problem_for("98%")
    number, _ = problem_for(share.regularizer.margin_set.least)
    one, two = (M3K().solve(problem, tol=1e-6).primal for problem in (share, number))
    assert one == pytest.approx(two, rel=2e-6)


def test_two_classes_and_other_losses_take_the_weight_set_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0, 1.0, -1.0)[:, None]
    bank = build_bank([RBF(gamma=g) for g in (0.01, 0.1, 1.0, 10.0)], X, normalize="center-diagonal")
    regularizer = MarginSimplex("90%").bind(bank, y)
    problem = MKLProblem(bank, y, Hinge(), regularizer, np.ones_like(y), True)
    result = as_solver("auto").solve(problem, tol=1e-6)
    assert result.status.converged and regularizer.margin_set.contains(result.weights)
    free = MKLProblem(bank, y, Hinge(), Simplex(), np.ones_like(y), True)
    assert result.primal >= as_solver("auto").solve(free, tol=1e-6).primal * (1 - 2e-6)


def test_too_large_a_margin_is_refused_with_the_feasible_range():
    with pytest.raises(ValueError, match=r"gamma0 of MarginSimplex is 5\.0, and no mixture .* above 0\.0\d+ .*'max'"):
        problem_for(5.0)


@pytest.mark.parametrize("gamma0", ["high", "120%", "-3%", np.nan, True, [0.1]])
def test_what_gamma0_may_be(gamma0):
    with pytest.raises(ValueError, match="expected a number, a share"):
        problem_for(gamma0)


@pytest.mark.parametrize("q", [0.5, np.inf, "two"])
def test_what_q_may_be(q):
    with pytest.raises(ValueError, match="q of MarginSimplex"):
        problem_for("max", q)


def test_unbound_it_says_what_to_do():
    with pytest.raises(ValueError, match="call bind"):
        MarginSimplex("max").conjugate([1.0, 2.0])


def test_classes_are_needed():
    problem, _ = small_problem("squared", Simplex())
    with pytest.raises(ValueError, match="class of every sample"):
        MarginSimplex("max").bind(problem.bank, problem.targets)


@pytest.mark.parametrize("q", [1.0, 2.0])
def test_the_set_is_what_it_says(q):
    problem, _ = problem_for("95%", q)
    regularizer, rng = problem.regularizer, np.random.default_rng(3)
    inside = regularizer.margin_set
    for _ in range(5):
        gains, norms = rng.random(6), rng.random(6)
        for point in (regularizer.lmo(gains), regularizer.project(gains - 0.5), regularizer.weights(norms)):
            assert inside.contains(inside.pull_inside(point))
            assert gains @ inside.pull_inside(point) <= 2 * regularizer.conjugate(np.sqrt(gains)) * (1 + 1e-7)
        nearest = regularizer.project(gains)
        for _ in range(20):
            other = inside.pull_inside(inside.domain.normalised(rng.random(6)))
            assert (gains - nearest) @ (other - nearest) <= 1e-5
        value = regularizer.value(norms)
        weights = regularizer.start(6)
        assert value <= regularizer.value_at(norms, weights) * (1 + 1e-6)


def _point(result):
    from polykern.problems import Point

    return Point(result.coef, result.weights, result.intercept)


def test_the_loss_is_the_one_of_many_classes():
    problem, _ = small_problem("hinge", Simplex())
    with pytest.raises(ValueError, match="MCMKL handles losses of all outputs together"):
        MCMKL().solve(problem)
    assert isinstance(small_problem("multiclass", Simplex())[0].loss, MulticlassHinge)


def test_the_margin_is_about_classes():
    with pytest.raises(ValueError, match="MarginSimplex is about classes, and Squared has none"):
        MKLRegressor([RBF()], regularizer=MarginSimplex("0%"), loss="squared").fit(np.eye(4), [1.0, -1.0, 1.0, -1.0])


def test_weights_of_another_size_are_no_upper_bound():
    problem, _ = problem_for("40%")
    inside = problem.regularizer.margin_set
    assert inside.contains(problem.regularizer.start(6)) and not inside.contains(10 * problem.regularizer.start(6))
