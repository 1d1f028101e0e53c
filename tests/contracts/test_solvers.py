"""What every solver owes: the optimum of cvxpy, a true certificate, agreement with the others."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.mkl_cases import GROUP_OF, GROUPED, JOINT, LOSSES, PARAMETERS, REGULARIZERS, small_problem
from oracles.mkl_cvxpy import solve_mkl
from polykern.problems.support import supports
from polykern.solvers import Level, MirrorDescent
from polykern.solvers.auto import ALL, choose_solver

# Solvers that stop after so many epochs, of problems without a bias, have contracts of their own: test_obscure.py.
EXACT = [solver for solver in ALL if solver.requires.exact]
EVERY_WEIGHT_SET = REGULARIZERS | GROUPED
EVERY_LOSS = LOSSES | JOINT
PAIRS = [
    (solver, loss, regularizer)
    for solver in EXACT
    for loss in sorted(EVERY_LOSS)
    for regularizer in sorted(EVERY_WEIGHT_SET)
    if supports(solver(), EVERY_LOSS[loss], EVERY_WEIGHT_SET[regularizer])
]


def hinge_for(solver):
    """The hinge that the solver handles."""
    return "hinge" if solver.requires.single_loss else "multiclass"


def optimum_of(problem, matrices, loss):
    regularizer = problem.regularizer
    return solve_mkl(
        matrices,
        problem.targets,
        problem.costs,
        loss,
        regularizer.q if regularizer.grouped else regularizer.block_norm,
        group_of=GROUP_OF if regularizer.grouped else None,
        intercept=problem.fit_intercept,
        **PARAMETERS.get(loss, {}),
    )


@pytest.mark.parametrize(("solver", "loss", "regularizer"), PAIRS)
def test_reaches_the_optimum_of_cvxpy_with_a_true_certificate(solver, loss, regularizer):
    problem, matrices = small_problem(loss, EVERY_WEIGHT_SET[regularizer], n=30, n_kernels=6, seed=7)
    result = solver().solve(problem, tol=1e-6)
    assert result.status.converged, result
    assert 0 <= result.gap <= 1e-6 + 1e-12
    recomputed = problem.certificate(
        (point := _point(result)), None if result.dual_coef is result.coef else result.dual_coef
    )
    assert recomputed.primal == pytest.approx(result.primal, rel=1e-9)
    assert recomputed.dual == pytest.approx(result.dual, rel=1e-8)
    optimum = optimum_of(problem, matrices, loss)
    assert result.primal == pytest.approx(optimum, rel=1e-5, abs=1e-9)
    assert result.dual <= optimum * (1 + np.sign(optimum) * 1e-5) + 1e-9
    assert max(v for k, v in problem.kkt(point).items() if k in ("bounds", "intercept")) < 1e-9


@pytest.mark.parametrize(("solver", "loss"), sorted({(s, n) for s, n, _ in PAIRS}, key=str))
def test_low_rank_kernels_do_not_stall_the_certificate(solver, loss):
    """Rank-one kernels: the machine's solution is not unique, the gap must close all the same."""
    regularizer = REGULARIZERS["simplex" if not solver.__name__.startswith("Lp") else "p=1.5"]
    problem, _ = small_problem(loss, regularizer, n=40, n_kernels=12, rank=1, seed=3)
    result = solver().solve(problem, tol=1e-4)
    assert result.status.converged, result


@pytest.mark.parametrize("solver", [solver for solver in EXACT if solver.requires.most_outputs > 1])
def test_several_outputs_share_the_weights(solver):
    regularizer = REGULARIZERS["simplex" if not solver.__name__.startswith("Lp") else "p=2"]
    problem, matrices = small_problem(hinge_for(solver), regularizer, n=20, n_kernels=4, n_outputs=3)
    result = solver().solve(problem, tol=1e-6)
    assert result.coef.shape == (20, 3) and result.intercept.shape == (3,)
    assert result.primal == pytest.approx(optimum_of(problem, matrices, hinge_for(solver)), rel=1e-5)


@pytest.mark.parametrize("regularizer", sorted(GROUPED))
@pytest.mark.parametrize("solver", [Level, MirrorDescent])
def test_several_outputs_share_the_weights_of_groups(solver, regularizer):
    problem, matrices = small_problem("hinge", GROUPED[regularizer], n=20, n_kernels=6, n_outputs=3)
    if supports(solver(), problem.loss, problem.regularizer):
        result = solver().solve(problem, tol=1e-6)
        assert result.primal == pytest.approx(optimum_of(problem, matrices, "hinge"), rel=1e-5)


@pytest.mark.parametrize("regularizer", sorted(GROUPED))
def test_groups_go_on_from_an_earlier_result(regularizer):
    problem, _ = small_problem("hinge", GROUPED[regularizer], n=40, n_kernels=6)
    cold = Level().solve(problem, tol=1e-6)
    warm = Level().solve(problem, tol=1e-3, start=cold)
    assert warm.n_iter < cold.n_iter and warm.primal <= cold.primal * (1 + 1e-3)


@pytest.mark.parametrize("solver", EXACT)
def test_one_kernel_is_a_plain_machine(solver):
    regularizer = REGULARIZERS["simplex" if not solver.__name__.startswith("Lp") else "p=2"]
    problem, _ = small_problem(hinge_for(solver), regularizer, n_kernels=1)
    result = solver().solve(problem, tol=1e-8)
    np.testing.assert_allclose(result.weights, [1.0])
    newton_steps_are_iterations = solver.__name__ == "InteriorPoint"
    # The machine of all classes ends just within what is asked of it, a tenth of the gap that is left.
    most = 15 if newton_steps_are_iterations else 3 if solver.requires.single_loss else 10
    assert result.n_iter <= most


@pytest.mark.parametrize("solver", EXACT)
def test_results_repeat_exactly(solver):
    regularizer = REGULARIZERS["simplex" if not solver.__name__.startswith("Lp") else "p=2"]
    one, two = (solver().solve(small_problem(hinge_for(solver), regularizer)[0]) for _ in range(2))
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.coef, two.coef)


@pytest.mark.parametrize("solver", EXACT)
def test_a_warm_start_ends_sooner(solver):
    regularizer = REGULARIZERS["simplex" if not solver.__name__.startswith("Lp") else "p=1.05"]
    problem, _ = small_problem(hinge_for(solver), regularizer, n=40, n_kernels=10)
    cold = solver().solve(problem, tol=1e-5)
    warm = solver().solve(problem, tol=1e-3, start=cold)
    assert warm.n_iter < cold.n_iter and warm.primal <= cold.primal * (1 + 1e-3)


@pytest.mark.parametrize("regularizer", sorted(EVERY_WEIGHT_SET))
@pytest.mark.parametrize("loss", sorted(EVERY_LOSS))
def test_auto_handles_every_pair(loss, regularizer):
    problem, _ = small_problem(loss, EVERY_WEIGHT_SET[regularizer], n_kernels=6)
    assert supports(choose_solver(problem), EVERY_LOSS[loss], EVERY_WEIGHT_SET[regularizer])


def _point(result):
    from polykern.problems import Point

    return Point(result.coef, result.weights, result.intercept)


@pytest.mark.parametrize("regularizer", ["simplex", "p=2", "p=inf"])
def test_a_kernel_that_is_zero_ends_with_weight_zero(regularizer):
    from polykern.bank import build_bank
    from polykern.kernels import Precomputed
    from polykern.problems import MKLProblem

    problem, matrices = small_problem("hinge", REGULARIZERS[regularizer], n=20, n_kernels=2)
    with pytest.warns(UserWarning, match="zero or constant"):
        bank = build_bank([Precomputed(K) for K in [*matrices, np.zeros((20, 20))]], np.arange(20), normalize=None)
    with_null = MKLProblem(bank, problem.targets, problem.loss, problem.regularizer, problem.costs, True)
    result = choose_solver(with_null).solve(with_null, tol=1e-6)
    assert result.weights[2] == 0.0 and result.status.converged
