"""All solvers that take a problem agree on it, for every loss, weight set, bias or none, one output or three.

Each result says between which bounds the optimum lies. The bounds are computed again from what is returned, and those
of all solvers must have the optimum in common. The optimum itself is held to cvxpy's in `test_solvers.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from oracles.mkl_cases import GROUPED, LOSSES, small_problem
from polykern.problems import Point, relative_gap
from polykern.problems.support import why_not_here
from polykern.regularizers import LpBall
from polykern.solvers.auto import ALL, choose_solver

WEIGHT_SETS = {f"p={p:g}": LpBall(p=p) for p in (1.0, 1.25, 2.0, np.inf)} | GROUPED
TOL = 1e-4
ROUNDING = 1e-9  # relative: between sums of the same numbers in another order


def cases():
    """(loss, weight set, with bias, outputs); one-class has one output and a bias."""
    for loss in sorted(LOSSES):
        for weight_set in WEIGHT_SETS:
            for intercept in (True, False):
                for n_outputs in (1, 3):
                    if not LOSSES[loss].needs_intercept or (intercept and n_outputs == 1):
                        yield loss, weight_set, intercept, n_outputs


def solve_with_all(problem):
    """Results of every solver that handles the problem."""
    exact = (kind() for kind in ALL if kind.requires.exact)  # the others: tests/unit/solvers/test_obscure.py
    able = [solver for solver in exact if why_not_here(solver, problem) is None]
    assert type(choose_solver(problem)) in {type(solver) for solver in able}
    return [solver.solve(problem, tol=TOL, max_iter=5000) for solver in able]


@pytest.mark.parametrize(("loss", "weight_set", "intercept", "n_outputs"), list(cases()))
def test_all_solvers_agree_within_bounds_that_hold(loss, weight_set, intercept, n_outputs):
    regularizer = WEIGHT_SETS[weight_set]
    problem, _ = small_problem(loss, regularizer, n=20, n_kernels=6, seed=5, n_outputs=n_outputs, intercept=intercept)
    results = solve_with_all(problem)
    for result in results:
        assert result.status.converged and 0.0 <= result.gap <= TOL, result
        assert_certified(problem, result)
    size = abs(min(result.primal for result in results))
    best_bound = max(result.dual for result in results)
    for result in results:
        assert best_bound <= result.primal + ROUNDING * size, (result, [r.solver for r in results])


def assert_certified(problem, result):
    """What the result says of itself is what `problem` makes of its coefficients, weights and biases."""
    point = Point(result.coef, result.weights, result.intercept)
    again = problem.certificate(point, result.dual_coef)
    assert again.primal == pytest.approx(result.primal, rel=ROUNDING), result.solver
    assert again.dual == pytest.approx(result.dual, rel=ROUNDING), result.solver
    assert relative_gap(result.primal, result.dual) == pytest.approx(result.gap, abs=ROUNDING), result.solver
    assert np.all(result.weights >= 0), result.solver
    assert_in_weight_set(problem.regularizer, result)
    assert result.coef.shape == problem.targets.shape and result.intercept.shape == (problem.n_outputs,)
    if not problem.fit_intercept:
        assert not result.intercept.any(), result.solver
    for coef in (result.coef, result.dual_coef):
        np.testing.assert_allclose(coef, problem.feasible(coef), atol=ROUNDING * (1 + np.abs(coef).max()))


def assert_in_weight_set(regularizer, result):
    if regularizer.grouped:
        np.testing.assert_allclose(
            regularizer.project(result.weights), result.weights, rtol=1e-9, err_msg=result.solver
        )
    else:
        assert np.linalg.norm(result.weights, regularizer.weight_norm) <= 1 + ROUNDING, result.solver
