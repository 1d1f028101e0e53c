"""Few machines, points that leave, bounds that hold whatever happens, every storage of the bank."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from oracles.bank import force
from oracles.mkl_cases import LOSSES, PARAMETERS, REGULARIZERS, costs_for, random_kernels, small_problem, targets_for
from oracles.mkl_cvxpy import solve_mkl
from polykern.bank import build_bank
from polykern.bank.plan import DENSE, MEMMAP, ON_THE_FLY
from polykern.kernels import RBF, Precomputed
from polykern.problems import MKLProblem, Point
from polykern.problems.result import Status
from polykern.solvers import Level, QuadraticBundle, best_mixture, dual_points
from polykern.solvers.dual_points import DualPoints
from polykern.solvers.quadratic_bundle import FEW_SHARE, LEAST_SHARE, MANY_SHARE, _next_share
from polykern.solvers.run import Run

SIMPLEX = REGULARIZERS["simplex"]
SHARES = [None, 0, 0.5]


def moons(n=200, loss="hinge", n_kernels=10, **options):
    """Two half circles with noise, Gaussian kernels of many widths."""
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, np.pi, n), np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = np.column_stack([np.cos(angle) + (y < 0), y * np.sin(angle) + 0.5 * (y < 0)]) + 0.25 * rng.normal(size=(n, 2))
    bank = build_bank([RBF(gamma=g) for g in np.geomspace(0.05, 20, n_kernels)], X, **options)
    return MKLProblem(bank, y[:, np.newaxis], LOSSES[loss], SIMPLEX, np.full((n, 1), 5.0), True)


def problem_on(matrices, loss="hinge", C=2.0, n_outputs=1, seed=0):
    n = len(matrices[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # kernels that are zero
        bank = build_bank([Precomputed(K) for K in matrices], np.arange(n), normalize=None)
    targets = targets_for(LOSSES[loss], n, seed, n_outputs)
    return MKLProblem(bank, targets, LOSSES[loss], SIMPLEX, costs_for(LOSSES[loss], targets.shape, seed, C), True)


def optimum_of(problem, matrices, loss):
    return solve_mkl(matrices, problem.targets, problem.costs, loss, 1, **PARAMETERS.get(loss, {}))


def check_true(problem, result):
    """The numbers of the result are those of its points, and its weights are on the simplex."""
    assert np.isfinite(result.weights).all() and result.weights.min() >= 0
    assert result.weights[~problem.bank.null].sum() <= 1.0 + 1e-9
    found = problem.certificate(Point(result.coef, result.weights, result.intercept), result.dual_coef)
    assert found.primal == pytest.approx(result.primal, rel=1e-9)
    assert found.dual == pytest.approx(result.dual, rel=1e-8, abs=1e-12)


# -- few machines ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_machines_are_few_and_fewer_than_those_of_level(loss):
    problem = moons(loss=loss)
    result = QuadraticBundle().solve(problem, tol=1e-6)
    assert result.status.converged
    assert result.n_machines <= 16
    assert result.n_machines < Level().solve(problem, tol=1e-6).n_machines


@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_few_kernels_that_the_model_is_wrong_about_take_few_machines_too(loss):
    """Rank one: at the model's minimum, a vertex, the machine is another one every time."""
    problem, _ = small_problem(loss, SIMPLEX, n=60, n_kernels=20, rank=1, n_outputs=3, seed=3)
    by_default = QuadraticBundle().solve(problem, tol=1e-4)
    assert by_default.status.converged
    assert 2 * by_default.n_iter < QuadraticBundle(share=0).solve(problem, tol=1e-4).n_iter


def test_many_kernels_take_few_machines():
    problem, _ = small_problem("hinge", SIMPLEX, n=60, n_kernels=120, rank=2, seed=1)
    result = QuadraticBundle().solve(problem, tol=1e-5)
    assert result.status.converged
    assert result.n_machines < Level().solve(problem, tol=1e-5).n_machines


def test_the_level_falls_where_promises_come_true_and_rises_where_not():
    assert _next_share(0.6, 0.7) == pytest.approx(0.3)
    assert _next_share(LEAST_SHARE, LEAST_SHARE) == 0.0
    assert _next_share(0.0, 0.4) == 0.0
    assert _next_share(0.0, 0.6) == FEW_SHARE
    assert _next_share(FEW_SHARE, 5.0) == pytest.approx(2 * FEW_SHARE)
    assert _next_share(0.5, 1.0) == MANY_SHARE


# -- the optimum -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "squared", "epsilon_insensitive"])
def test_all_shares_agree_with_cvxpy(loss, n_outputs):
    problem, matrices = small_problem(loss, SIMPLEX, n=24, n_kernels=6, n_outputs=n_outputs, seed=2)
    optimum = optimum_of(problem, matrices, loss)
    for share in SHARES:
        result = QuadraticBundle(share).solve(problem, tol=1e-6)
        assert result.status.converged
        assert result.primal == pytest.approx(optimum, rel=1e-5)
        assert result.dual <= optimum * (1 + 1e-6)
        check_true(problem, result)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "epsilon_insensitive", "one_class"])
@pytest.mark.parametrize(("share", "most"), [(None, 5), (0.5, 5), (0, 6)])
def test_few_points_are_enough(loss, share, most, monkeypatch):
    """The one in least use leaves: the same optimum, bounds that hold."""
    monkeypatch.setattr(dual_points, "MOST_POINTS", most)
    problem, matrices = small_problem(loss, SIMPLEX, n=30, n_kernels=6, seed=4)
    result = QuadraticBundle(share).solve(problem, tol=1e-5)
    assert result.status.converged and most < result.n_machines <= 30
    assert result.primal == pytest.approx(optimum_of(problem, matrices, loss), rel=2e-5)
    check_true(problem, result)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_too_few_points_end_in_a_status_and_true_bounds(loss, share, monkeypatch):
    """Two points cannot show where the objective bends. No search goes on where no b is below the level."""
    monkeypatch.setattr(dual_points, "MOST_POINTS", 2)
    problem, matrices = small_problem(loss, SIMPLEX, n=30, n_kernels=6, seed=4)
    result = QuadraticBundle(share).solve(problem, tol=1e-7, max_iter=30)
    check_true(problem, result)
    optimum = optimum_of(problem, matrices, loss)
    assert result.dual <= optimum * (1 + 1e-6) and optimum <= result.primal * (1 + 1e-6)


@pytest.mark.parametrize("storage", [DENSE, MEMMAP, ON_THE_FLY])
def test_every_storage_gives_the_same(storage, monkeypatch):
    expected = QuadraticBundle().solve(moons(n=80), tol=1e-6)
    force(monkeypatch, storage)
    problem = moons(n=80)
    assert storage in problem.bank.explain()
    result = QuadraticBundle().solve(problem, tol=1e-6)
    assert result.status.converged
    assert result.primal == pytest.approx(expected.primal, rel=1e-6)
    np.testing.assert_allclose(result.weights, expected.weights, atol=1e-2)


def test_single_precision_ends_too():
    problem = moons(n=80, dtype="float32")
    result = QuadraticBundle().solve(problem, tol=1e-6)
    assert result.status.converged
    assert result.primal == pytest.approx(QuadraticBundle().solve(moons(n=80), tol=1e-6).primal, rel=1e-5)


# -- points that leave -----------------------------------------------------------------------------------------


def evaluations(n_points, seed=0, n_outputs=1):
    problem, matrices = small_problem("hinge", SIMPLEX, n=30, n_kernels=5, n_outputs=n_outputs, seed=4)
    run = Run(problem, tol=1e-9, max_iter=1, time_limit=None, callbacks=[])
    weights = np.random.default_rng(seed).dirichlet(np.ones(5), size=n_points)
    return problem, matrices, [run.evaluate(b, tol=1e-10) for b in weights]


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_products_gains_and_planes_are_those_of_the_coefficients(n_outputs, monkeypatch):
    """Of the points that are left, too."""
    monkeypatch.setattr(dual_points, "MOST_POINTS", 4)
    problem, matrices, found = evaluations(7, n_outputs=n_outputs)
    points = DualPoints(problem, 3.0)
    for evaluation in found:
        points.add(evaluation)
        points.mix(1e-8)
    assert len(points.coefs) == len(points.gains) == len(points.shares) == 4
    expected = np.array([[[np.sum(a * (K @ b)) for b in points.coefs] for a in points.coefs] for K in matrices]) / 3.0
    np.testing.assert_allclose(points.products, expected, rtol=1e-9, atol=1e-12)
    proved = [-problem.conjugate_sum(coef) / 3.0 for coef in points.coefs]
    np.testing.assert_allclose(points.gains, proved, rtol=1e-12)
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    plane, mixed = points.plane(shares), points.coef(shares)()
    np.testing.assert_allclose(plane.slope, -0.5 * problem.forms(mixed) / 3.0, rtol=1e-9)
    assert plane.height <= -problem.conjugate_sum(mixed) / 3.0 + 1e-12


def test_what_was_suggested_is_proved_by_points_that_have_left(monkeypatch):
    monkeypatch.setattr(dual_points, "MOST_POINTS", 3)
    problem, _, found = evaluations(12)
    points, suggested = DualPoints(problem, 1.0), []
    for evaluation in found:
        points.add(evaluation)
        mixture = points.mix(1e-10)
        suggested.append((mixture.bound, points.coef(mixture.shares)))
    for bound, make in suggested:
        assert problem.dual(problem.feasible(make())) >= bound - 1e-9 * abs(bound)


def test_planes_leave_with_the_points_they_may_stand_on(monkeypatch):
    """Those that are left are below the model, so that some b is below every level above its minimum."""
    monkeypatch.setattr(dual_points, "MOST_POINTS", 3)
    problem, _, found = evaluations(4)
    points = DualPoints(problem, 1.0)
    for evaluation in found[:3]:
        points.add(evaluation)
        points.planes.append(points.plane(points.mix(1e-8).shares))
    assert len(points.planes) == 3
    points.shares = np.array([0.5, 0.2, 0.3])
    points.add(found[3])
    assert not points.planes and len(points.coefs) == 3
    np.testing.assert_allclose(points.shares, [0.625, 0.375, 0.0])


def test_the_same_point_again_and_again_changes_nothing():
    problem, _, found = evaluations(2)
    points = DualPoints(problem, found[0].primal)
    points.add(found[0])
    points.add(found[1])
    before = points.mix(1e-9)
    for _ in range(10):
        points.add(found[0])
        again = points.mix(1e-9)
        assert again.bound == pytest.approx(before.bound, abs=1e-8)
        assert np.isfinite(again.weights).all()


# -- odd problems ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-8, 1e-3, 1e5])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_costs_of_any_size(loss, share, C):
    problem = problem_on(random_kernels(20, 5, seed=6), loss, C)
    result = QuadraticBundle(share).solve(problem, tol=1e-5)
    assert result.status.converged
    check_true(problem, result)


@pytest.mark.parametrize("share", SHARES)
def test_kernels_that_are_zero_or_the_same(share):
    """A solution with many weights, of which those of zero kernels are zero."""
    matrices = random_kernels(24, 3, seed=8)
    odd = [matrices[0], matrices[0] * (1 + 1e-13), *matrices[1:], matrices[0].copy(), np.zeros((24, 24))]
    problem = problem_on(odd)
    result = QuadraticBundle(share).solve(problem, tol=1e-6)
    assert result.status.converged and result.weights[-1] == 0.0
    assert result.primal == pytest.approx(QuadraticBundle(share).solve(problem_on(matrices), tol=1e-6).primal, rel=2e-6)


@pytest.mark.parametrize("share", SHARES)
def test_the_solution_zero(share):
    """Costs so low, on kernels so small, that regression targets within epsilon leave nothing to fit."""
    problem = problem_on(random_kernels(20, 4, seed=1), "epsilon_insensitive")
    problem.targets[:] = np.random.default_rng(0).uniform(-0.1, 0.1, size=(20, 1))
    result = QuadraticBundle(share).solve(problem, tol=1e-6, max_iter=5)
    assert not result.coef.any() and result.primal == 0.0 and result.dual == 0.0
    assert np.isfinite(result.weights).all()


@pytest.mark.parametrize("loss", ["hinge", "squared", "one_class"])
@pytest.mark.parametrize("share", [*SHARES, 0.99])
def test_one_kernel(share, loss):
    problem, _ = small_problem(loss, SIMPLEX, n_kernels=1, rank=3)
    result = QuadraticBundle(share).solve(problem, tol=1e-8)
    assert result.status.converged and result.n_iter <= 3
    np.testing.assert_allclose(result.weights, [1.0])


# -- the course of a solve -------------------------------------------------------------------------------------


def test_one_iteration_is_two_machines_and_a_proved_bound():
    problem = moons(n=60)
    result = QuadraticBundle().solve(problem, tol=1e-9, max_iter=1)
    assert result.status == Status.MAX_ITER and result.n_machines == 2
    check_true(problem, result)


@pytest.mark.parametrize("interrupted", ["scores", "mix", "callback"])
def test_ctrl_c_leaves_the_best_so_far(interrupted, monkeypatch):
    problem, calls = moons(n=60), []

    def interrupt(*_):
        calls.append(1)
        if len(calls) == (1 if interrupted == "callback" else 3):
            raise KeyboardInterrupt

    if interrupted == "scores":
        true_add = DualPoints.add
        monkeypatch.setattr(DualPoints, "add", lambda self, at: (interrupt(), true_add(self, at))[1])
    elif interrupted == "mix":
        true_mix = DualPoints.mix
        monkeypatch.setattr(DualPoints, "mix", lambda self, tol: (interrupt(), true_mix(self, tol))[1])
    callbacks = [interrupt] if interrupted == "callback" else []
    result = QuadraticBundle().solve(problem, tol=1e-9, callbacks=callbacks)
    assert result.status == Status.INTERRUPTED and np.isfinite(result.gap)
    check_true(problem, result)


@pytest.mark.parametrize("C", [1e-2, 1e3])
@pytest.mark.parametrize("share", SHARES)
def test_starts_from_a_result_of_other_costs(share, C):
    matrices = random_kernels(30, 8, seed=2)
    earlier = QuadraticBundle(share).solve(problem_on(matrices, C=1.0), tol=1e-5)
    problem = problem_on(matrices, C=C)
    result = QuadraticBundle(share).solve(problem, tol=1e-5, start=earlier)
    assert result.status.converged
    assert result.primal == pytest.approx(QuadraticBundle(share).solve(problem, tol=1e-6).primal, rel=2e-5)


def test_starts_from_a_vertex():
    """All weight on one kernel that is not the best, zeros elsewhere."""
    from dataclasses import replace

    problem = moons(n=60)
    earlier = QuadraticBundle().solve(problem, tol=1e-6)
    start = replace(earlier, weights=np.eye(10)[int(np.argmin(earlier.weights))])
    result = QuadraticBundle().solve(problem, tol=1e-6, start=start)
    assert result.status.converged and result.primal == pytest.approx(earlier.primal, rel=2e-6)


@pytest.mark.parametrize("share", SHARES)
def test_mixtures_that_fail_end_in_a_status(share, monkeypatch):
    """No step of any mixture is finite: no exception, and bounds that are true."""
    monkeypatch.setattr(best_mixture, "_factored", lambda system: None)
    problem, matrices = small_problem("hinge", SIMPLEX, n=24, n_kernels=6, seed=2)
    result = QuadraticBundle(share).solve(problem, tol=1e-6, max_iter=8)
    assert result.status == Status.MAX_ITER
    check_true(problem, result)
    optimum = optimum_of(problem, matrices, "hinge")
    assert result.dual <= optimum * (1 + 1e-6) and optimum <= result.primal * (1 + 1e-6)


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, np.nan])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ValueError, match=r"share of QuadraticBundle is .*from 0 to below 1, or None"):
        QuadraticBundle(share).solve(moons(n=20))
