"""UFO-MKL: the optimum of cvxpy with the mixed norm, kernels that are exactly zero, the choice of "auto"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oracles.mkl_cases import PARAMETERS, small_problem
from oracles.mkl_cvxpy import solve_mkl
from polykern import regularizers
from polykern.problems import Point
from polykern.problems.result import Status
from polykern.regularizers import MixedNorm
from polykern.solvers import UFO, as_solver, choose_solver

ALL_LOSSES = ["epsilon_insensitive", "hinge", "logistic", "multiclass", "smooth_hinge", "squared", "squared_hinge"]


def small(loss, p=1.25, l1=1.0, **options):
    return small_problem(
        loss, MixedNorm(p=p, l1=l1), **{"n": 24, "n_kernels": 5, "seed": 3, "intercept": False} | options
    )


@pytest.mark.parametrize("p", [1.01, 1.25, 2.0])
@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_reaches_the_optimum_of_cvxpy_within_the_gap_it_reports(loss, p):
    problem, matrices = small(loss, p, l1=2.0)
    optimum = solve_mkl(
        matrices, problem.targets, problem.costs, loss, p, l1=2.0, intercept=False, **PARAMETERS.get(loss, {})
    )
    exact = UFO(epochs=10, check_gap=True).solve(problem, tol=1e-4)
    assert exact.status is Status.CONVERGED and exact.gap <= 1e-4
    paper = UFO(epochs=300).solve(problem)
    for result in (exact, paper):
        again = problem.certificate(Point(result.coef, result.weights, result.intercept), result.dual_coef)
        assert again.primal == pytest.approx(result.primal, rel=1e-9)
        assert again.dual == pytest.approx(result.dual, rel=1e-8)
        assert result.dual <= optimum * (1 + 1e-6) and optimum * (1 - 1e-6) <= result.primal
    assert paper.gap < 0.05


def test_kernels_of_no_use_are_exactly_zero():
    """Two kernels tell the labels, three are noise: the price leaves the two, whatever p is."""
    rng = np.random.default_rng(0)
    problem, _ = small("hinge", p=2.0, l1=0.0, n=60)
    y = problem.targets[:, 0]
    told = [np.outer(y, y) + 0.3 * np.eye(60), np.outer(y, y) + 0.5 * np.eye(60)]
    noise = [(lambda A: A @ A.T / 60)(rng.standard_normal((60, 60))) for _ in range(3)]
    from polykern.bank import build_bank
    from polykern.kernels import Precomputed

    bank = build_bank([Precomputed(K) for K in told + noise], np.arange(60), normalize=None)
    for l1, kept in ((0.0, 5), (2.0, 2), (1e4, 0)):
        priced = replace(problem, bank=bank, regularizer=MixedNorm(p=2.0, l1=l1))
        result = UFO(epochs=30, check_gap=True).solve(priced, tol=1e-3)
        assert np.flatnonzero(result.weights).tolist() == list(range(kept)), (l1, result.weights)
        np.testing.assert_array_equal(result.details["block_norms"] > 0, result.weights > 0)


def test_the_papers_price_is_ours_over_the_sum_of_the_costs():
    """lambda / 2 |w|^2 + l1 |w|_1 + mean loss, times C n, is Omega + C sum of losses with C n l1."""
    problem, _ = small("hinge", p=1.5, l1=0.05 * 24 * 3.0)
    problem = replace(problem, costs=np.full((24, 1), 3.0))
    result = UFO(epochs=20, check_gap=True).solve(problem, tol=1e-5)
    norms = result.details["block_norms"]
    outputs = problem.outputs(Point(result.coef, result.weights, result.intercept))
    lam = 1.0 / (3.0 * 24)
    papers = 0.5 * lam * np.linalg.norm(norms, 1.5) ** 2 + 0.05 * norms.sum()
    papers += np.mean(problem.loss.value(outputs, problem.targets))
    assert papers == pytest.approx(lam * result.primal, rel=1e-9)


def test_auto_takes_it_for_the_mixed_norm_and_stops_by_the_gap():
    problem, _ = small("multiclass")
    solver = choose_solver(problem)
    assert isinstance(solver, UFO) and solver.check_gap
    assert as_solver("auto").solve(problem, tol=1e-3).gap <= 1e-3
    with_bias, _ = small("hinge", intercept=True)
    with pytest.raises(ValueError, match=r"No solver handles Hinge with MixedNorm.* and a bias; set fit_intercept"):
        choose_solver(with_bias)


@pytest.mark.parametrize("check_gap", [True, False])
def test_seeds_and_going_on(check_gap):
    problem, _ = small("multiclass")
    solver = UFO(epochs=8, check_gap=check_gap, random_state=1)
    whole = solver.solve(problem, tol=1e-4)
    np.testing.assert_array_equal(solver.solve(problem, tol=1e-4).coef, whole.coef)
    for at in (3, 7):
        half = solver.solve(problem, tol=1e-4, callbacks=[lambda record, _, at=at: record.iteration == at])
        np.testing.assert_array_equal(solver.solve(problem, tol=1e-4, start=half).coef, whole.coef)


def test_norms_without_a_price_are_handled_too():
    problem, matrices = small_problem("hinge", regularizers.LpBall(p=2.0), n=24, n_kernels=4, intercept=False)
    optimum = solve_mkl(matrices, problem.targets, problem.costs, "hinge", 4 / 3, intercept=False)
    assert UFO(check_gap=True).solve(problem, tol=1e-4).primal == pytest.approx(optimum, rel=2e-4)
    with pytest.raises(ValueError, match=r"UFO handles weight sets with 1 < p <= inf; Simplex\(\) has p = 1\."):
        UFO().solve(replace(problem, regularizer=regularizers.Simplex()))


def test_block_norm_1_is_refused():
    problem, _ = small("hinge", p=1.0)
    with pytest.raises(ValueError, match=r"UFO handles MixedNorm with p > 1; this one has p = 1"):
        UFO().solve(problem)
