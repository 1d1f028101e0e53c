"""The SimpleMKL paper's kernels on its data sets, subsampled: optimum equal to cvxpy's, solvers agree."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.mkl_cvxpy import solve_mkl
from papers.real_data import housing, simplemkl_set
from polykern import losses, regularizers
from polykern.problems import MKLProblem
from polykern.problems.support import supports
from polykern.solvers.auto import ALL

SETS = ["ionosphere", "sonar", "bupa_liver", "wpbc", "pima_diabetes"]
REGULARIZERS = [regularizers.Simplex(), regularizers.LpBall(p=1.5)]


def problem_on(bank, y, regularizer, loss, C=100.0):
    return MKLProblem(bank, y[:, None], loss, regularizer, np.full((len(y), 1), C), True)


def matrices_of(bank):
    everything = np.arange(bank.n_samples)
    return list(bank.blocks(everything, everything))


def solve_with_all(problem, tol):
    exact = [solver() for solver in ALL if solver.requires.exact]
    able = [solver for solver in exact if supports(solver, problem.loss, problem.regularizer)]
    results = [solver.solve(problem, tol=tol, max_iter=5000) for solver in able]
    assert results and all(result.status.converged for result in results), results
    return results


@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=repr)
@pytest.mark.parametrize("name", SETS)
def test_objective_is_that_of_cvxpy(name, regularizer):
    """45 samples, one kernel in eight: small enough for cvxpy, every solver at 1e-6."""
    y, bank = simplemkl_set(name, rows=45, every=8)
    problem = problem_on(bank, y, regularizer, losses.Hinge())
    optimum = solve_mkl(matrices_of(bank), problem.targets, problem.costs, "hinge", regularizer.block_norm)
    for result in solve_with_all(problem, 1e-6):
        assert result.primal == pytest.approx(optimum, rel=1e-5), result.solver


@pytest.mark.parametrize("loss", [losses.EpsilonInsensitive(epsilon=0.1), losses.Squared()], ids=repr)
def test_regression_objective_is_that_of_cvxpy(loss):
    y, bank = housing(rows=45, every=5)
    problem = problem_on(bank, y, regularizers.Simplex(), loss)
    name = "squared" if loss.smooth else "epsilon_insensitive"
    optimum = solve_mkl(matrices_of(bank), problem.targets, problem.costs, name, 1)
    for result in solve_with_all(problem, 1e-6):
        assert result.primal == pytest.approx(optimum, rel=1e-5), result.solver


@pytest.mark.parametrize("name", SETS)
def test_all_solvers_agree_on_the_whole_set(name):
    """All samples, every fourth kernel, tol = 1e-3; benchmarks/bench_agreement.py does it with every kernel."""
    y, bank = simplemkl_set(name, every=4)
    objectives = [r.primal for r in solve_with_all(problem_on(bank, y, REGULARIZERS[0], losses.Hinge()), 1e-3)]
    assert max(objectives) - min(objectives) <= 1e-3 * min(objectives)


def test_lp_ball_and_group_norm_give_the_same_model():
    y, bank = simplemkl_set("ionosphere", rows=150, every=4)
    ball, group = (
        solve_with_all(problem_on(bank, y, regularizer, losses.Hinge()), 1e-6)[0]
        for regularizer in (regularizers.LpBall(p=1.5), regularizers.GroupNorm(p=1.2))
    )
    np.testing.assert_allclose(ball.weights, group.weights, atol=1e-9)
    np.testing.assert_allclose(ball.coef, group.coef, atol=1e-7 * np.abs(ball.coef).max())
