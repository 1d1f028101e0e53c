"""Pegasos for multiple kernels: the optimum of cvxpy, means of subgradients as dual points, and its limits."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.mkl_cases import PARAMETERS, small_problem
from oracles.mkl_cvxpy import solve_mkl
from polykern import regularizers
from polykern.problems import Point
from polykern.problems.result import Status
from polykern.solvers import UFO, Obscure, Pegasos, as_solver


def small(loss, p, **options):
    return small_problem(
        loss, regularizers.GroupNorm(p=p), **{"n": 24, "n_kernels": 4, "seed": 3, "intercept": False} | options
    )


@pytest.mark.parametrize("p", [1.01, 1.1, 1.25, 1.5, 2.0])
@pytest.mark.parametrize(
    "loss", ["epsilon_insensitive", "hinge", "logistic", "multiclass", "smooth_hinge", "squared", "squared_hinge"]
)
def test_reaches_the_optimum_of_cvxpy_within_the_gap_it_reports(loss, p):
    problem, matrices = small(loss, p)
    optimum = solve_mkl(matrices, problem.targets, problem.costs, loss, p, intercept=False, **PARAMETERS.get(loss, {}))
    result = Pegasos(epochs=300).solve(problem)
    again = problem.certificate(Point(result.coef, result.weights, result.intercept), result.dual_coef)
    assert again.primal == pytest.approx(result.primal, rel=1e-9)
    assert again.dual == pytest.approx(result.dual, rel=1e-8)
    assert result.dual <= optimum * (1 + 1e-6) and optimum * (1 - 1e-6) <= result.primal
    assert result.gap < 0.05


@pytest.mark.parametrize("loss", ["hinge", "multiclass", "epsilon_insensitive"])
def test_after_whole_epochs_coefficients_are_means_of_slopes(loss):
    """So they are feasible as they are, but for rounding, and the lower bound costs no pass over the kernels."""
    from polykern.solvers.sample_steps import HARMONIC
    from polykern.solvers.samples import Samples

    problem, _ = small(loss, 1.5, n=30)
    samples = Samples(problem)
    state = samples.fresh(0)
    for _ in range(5):
        samples.descend(state, samples.rule(HARMONIC), shuffle=True, deadline=None)
        coef = state.scale * state.coef
        np.testing.assert_allclose(problem.feasible(coef), coef, atol=1e-12 * np.abs(coef).max())
    shares = np.abs(coef) / problem.costs * 5
    np.testing.assert_allclose(shares, np.round(shares), atol=1e-9)  # slopes of 0 and 1, five of them


def test_the_gap_falls_with_the_number_of_steps():
    problem, _ = small("hinge", 1.5)
    gaps = [Pegasos(epochs=n).solve(problem).gap for n in (10, 100, 1000)]
    assert gaps[0] > 4 * gaps[1] > 16 * gaps[2]


def test_with_check_gap_it_stops_by_the_gap():
    problem, _ = small("logistic", 1.5)
    result = Pegasos(epochs=1, check_gap=True).solve(problem, tol=1e-3)
    assert result.status is Status.CONVERGED and result.gap <= 1e-3
    shorter = Pegasos(epochs=result.n_iter).solve(problem)
    np.testing.assert_array_equal(shorter.coef, result.coef)
    assert Pegasos(check_gap=True).solve(problem, tol=1e-9, max_iter=30).status is Status.MAX_ITER


def test_it_is_ufo_without_a_price():
    problem, _ = small("multiclass", 1.25)
    ours, theirs = Pegasos(epochs=20).solve(problem), UFO(epochs=20).solve(problem)
    np.testing.assert_array_equal(ours.coef, theirs.coef)


def test_the_online_stage_is_ahead_at_first():
    """Section 5.3 of the paper: early on, and at a large C, its objective is far below that of 1/t steps."""
    problem, _ = small("multiclass", 1.25, n=90)
    problem.costs[...] = 100.0
    assert Obscure(epochs=5).solve(problem).primal < 0.3 * Pegasos(epochs=5).solve(problem).primal


def test_seeds_details_and_going_on():
    problem, _ = small("hinge", 1.25)
    whole = Pegasos(epochs=12, random_state=3).solve(problem)
    assert whole.details["epochs"] == {"subgradient": 12} and "radius" not in whole.details
    np.testing.assert_array_equal(Pegasos(epochs=12, random_state=3).solve(problem).coef, whole.coef)
    half = Pegasos(epochs=12, random_state=3).solve(problem, callbacks=[lambda record, _: record.iteration == 5])
    assert half.status is Status.STOPPED
    np.testing.assert_array_equal(Pegasos(epochs=12, random_state=3).solve(problem, start=half).coef, whole.coef)


def test_a_start_counts_as_one_epoch():
    """The first step of all multiplies what is there by 0; an earlier result is kept instead."""
    problem, _ = small("hinge", 1.25)
    good = Obscure(epochs=5, check_gap=True).solve(problem, tol=1e-4)
    warm = Pegasos(epochs=1).solve(problem, start=good)
    assert warm.primal <= good.primal * (1 + 1e-9)


def test_it_has_a_name_and_refuses_a_bias():
    assert isinstance(as_solver("pegasos"), Pegasos)
    with pytest.raises(ValueError, match="Pegasos has no bias"):
        Pegasos().solve(small("hinge", 1.5, intercept=True)[0])
