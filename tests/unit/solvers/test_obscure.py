"""OBSCURE: the optimum of cvxpy, the bounds of its theorems, and what a solver owes that goes from sample to sample."""

from __future__ import annotations

import os
import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest

from oracles.mkl_cases import PARAMETERS, small_problem
from oracles.mkl_cvxpy import solve_mkl
from polykern import losses, regularizers
from polykern.bank import build_bank
from polykern.kernels import RBF, Linear
from polykern.machines import CombinedMatrix, CrammerSinger
from polykern.problems import MKLProblem, Point
from polykern.problems.result import Status
from polykern.solvers import LpAnalytic, Obscure, Pegasos, as_solver, choose_solver

BLOCK_NORMS = [1.01, 1.1, 1.25, 1.5, 2.0]
ALL_LOSSES = ["epsilon_insensitive", "hinge", "logistic", "multiclass", "smooth_hinge", "squared", "squared_hinge"]


def small(loss="multiclass", p=1.25, **options):
    return small_problem(
        loss, regularizers.GroupNorm(p=p), **{"n": 24, "n_kernels": 4, "seed": 3, "intercept": False} | options
    )


def classes_problem(n=120, p=1.25, C=10.0, seed=0, n_kernels=3):
    """Three separable classes in the plane, RBF kernels: K(x, x) = 1."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(n) % 3)
    X = 3.0 * np.array([[1, 0], [-0.5, 0.9], [-0.5, -0.9]])[label] + 0.7 * rng.standard_normal((n, 2))
    bank = build_bank([RBF(gamma=2.0**k) for k in range(-n_kernels + 1, 1)], X, normalize=None)
    targets = np.eye(3)[label]
    costs = np.full(targets.shape, C)
    return MKLProblem(bank, targets, losses.MulticlassHinge(), regularizers.GroupNorm(p=p), costs, False)


def assert_certified(problem, result):
    """What the result says of itself is what the problem makes of its coefficients and weights."""
    again = problem.certificate(Point(result.coef, result.weights, result.intercept), result.dual_coef)
    assert again.primal == pytest.approx(result.primal, rel=1e-9)
    assert again.dual == pytest.approx(result.dual, rel=1e-8)
    assert result.gap == pytest.approx((result.primal - result.dual) / result.primal)
    np.testing.assert_allclose(result.dual_coef, problem.feasible(result.dual_coef), atol=1e-9)
    assert np.all(result.weights >= 0) and not result.intercept.any()
    assert np.linalg.norm(result.weights, problem.regularizer.weight_norm) <= 1 + 1e-9


def objective(problem, result):
    """The paper's: lambda / 2 |w|^2 + mean loss."""
    return result.primal / problem.costs.mean(axis=1).sum()


# -- the optimum -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", BLOCK_NORMS)
@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_reaches_the_optimum_of_cvxpy_within_the_gap_it_reports(loss, p):
    problem, matrices = small(loss, p)
    optimum = solve_mkl(matrices, problem.targets, problem.costs, loss, p, intercept=False, **PARAMETERS.get(loss, {}))
    exact = Obscure(epochs=10, check_gap=True).solve(problem, tol=1e-4)
    assert exact.status is Status.CONVERGED and exact.gap <= 1e-4
    paper = [Obscure(epochs=150, stages=stages).solve(problem) for stages in ("both", "batch")]
    for result in (exact, *paper):
        assert_certified(problem, result)
        assert result.dual <= optimum * (1 + 1e-6) and optimum * (1 - 1e-6) <= result.primal
    assert all(result.primal <= 1.12 * optimum for result in paper), [r.primal / optimum for r in paper]


def test_the_stochastic_stage_alone_converges():
    """Theorem 3: in expectation the error falls with the number of steps, to nothing."""
    problem, matrices = small("hinge", 1.5)
    optimum = solve_mkl(matrices, problem.targets, problem.costs, "hinge", 1.5, intercept=False)
    off = [
        np.mean([Obscure(epochs=n, random_state=seed).solve(problem).primal / optimum - 1 for seed in range(4)])
        for n in (10, 100, 1000)
    ]
    assert off[0] > 2.5 * off[1] > 6 * off[2] > 0 and off[2] < 2e-3, off


@pytest.mark.parametrize("stages", ["both", "online", "batch"])
def test_block_norm_2_is_the_crammer_singer_machine_on_the_summed_kernel(stages):
    problem = classes_problem(p=2.0)
    ((_, part),) = problem.parts()
    machine = CrammerSinger().solve(CombinedMatrix(problem.bank, np.ones(3)), part, tol=1e-6)
    result = Obscure(epochs=5, stages=stages, check_gap=True).solve(problem, tol=1e-5)
    np.testing.assert_array_equal(result.weights, np.ones(3))
    assert result.primal == pytest.approx(machine.primal, rel=2e-5)
    np.testing.assert_allclose(problem.outputs(Point(result.coef, result.weights, 0.0)), machine.outputs, atol=0.02)


def test_float32_kernels_and_several_outputs():
    X = np.random.default_rng(0).standard_normal((80, 3))
    bank = build_bank([RBF(gamma=0.5), Linear()], X, dtype="float32")
    targets = np.where(X[:, :2] + X[:, 1:] > 0, 1.0, -1.0)
    problem = MKLProblem(bank, targets, losses.Hinge(), regularizers.LpBall(p=2.0), np.full(targets.shape, 3.0), False)
    result = Obscure(epochs=10, check_gap=True).solve(problem, tol=1e-4)
    assert result.status.converged
    assert result.primal == pytest.approx(LpAnalytic().solve(problem, tol=1e-5).primal, rel=2e-4)


# -- the theorems ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [0.5, 2.0, 10.0])
@pytest.mark.parametrize("p", [1.05, 1.25, 2.0])
def test_updates_and_radius_are_within_the_bounds_of_theorem_4(p, eta):
    """Separable: U < q (2 / eta + L^2) |v|^2 and R < (2 + eta L^2) |v| for any v without loss, L = sqrt(2) F^(1/q)."""
    problem = classes_problem(p=p, C=1e4)
    result = Obscure(epochs=200, eta=eta, stages="online").solve(problem, max_iter=1000)
    assert result.status is Status.EPOCHS and result.details["epochs"]["online"] < 200  # it came to rest
    hardest = Obscure(epochs=5, check_gap=True).solve(problem, tol=1e-2)
    outputs = problem.outputs(Point(hardest.coef, hardest.weights, 0.0))
    own = np.sum(outputs * problem.targets, axis=1)
    margin = np.min(own - np.max(np.where(problem.targets > 0, -np.inf, outputs), axis=1))
    assert margin > 0.5
    size = np.linalg.norm(hardest.weights * np.sqrt(problem.forms(hardest.coef)), p) / margin  # |v|, without loss
    q = p / (p - 1.0)
    reach = 2.0 * 3 ** (2 / q)  # L^2
    assert 0 < result.details["n_updates"] < q * (2 / eta + reach) * size**2
    assert size * (1 - 1e-2) <= result.details["radius"] < (2 + eta * reach) * size


@pytest.mark.parametrize("loss", ["hinge", "logistic", "multiclass"])
@pytest.mark.parametrize("p", [1.1, 1.5])
def test_the_radius_bounds_the_norm_of_the_optimum(loss, p):
    problem, _ = small(loss, p)
    best = Obscure(epochs=10, check_gap=True).solve(problem, tol=1e-4)
    for options in ({"stages": "online"}, {"stages": "batch"}, {"eta": 20.0}):
        radius = Obscure(epochs=6, **options).solve(problem).details["radius"]
        assert radius >= np.linalg.norm(best.details["block_norms"], p) * (1 - 1e-3)


def test_more_updates_than_the_bound_with_losses_allows_are_never_made():
    """The first bound of Theorem 4, for data that no function separates: any u counts with its losses."""
    problem, _ = small("multiclass", 1.25, n=60, rank=2)
    problem = replace(problem, costs=np.full(problem.costs.shape, 1.0))
    n_epochs, eta, q = 7, 2.0, 5.0
    result = Obscure(epochs=n_epochs, eta=eta, stages="online").solve(problem)
    best = Obscure(epochs=10, check_gap=True).solve(problem, tol=1e-3)
    largest = np.sqrt([problem.bank.diag(one).max() for one in np.eye(4)])
    reach = 2.0 * np.sum(largest**q) ** (2 / q)
    outputs = problem.outputs(Point(best.coef, best.weights, 0.0))
    loss = n_epochs * problem.loss.value(outputs, problem.targets).sum()
    size = np.linalg.norm(best.details["block_norms"], 1.25)
    slack = q * (2 / eta + reach)
    assert result.details["n_updates"] <= slack * size**2 + loss + size * np.sqrt(slack * loss)


# -- stages, epochs, seeds ---------------------------------------------------------------------------------------------


def test_stages_do_the_epochs_that_were_asked_for():
    problem = classes_problem()
    both = Obscure(epochs=12, online_epochs=3).solve(problem)
    assert both.status is Status.EPOCHS and both.status.as_asked and not both.status.converged
    assert both.details["epochs"] == {"online": 3, "stochastic": 9} and both.n_iter == 12
    assert both.details["n_updates"] == sum(both.details["updates"].values())
    assert Obscure(epochs=2, stages="online").solve(problem).details["epochs"] == {"online": 2}
    assert Obscure(epochs=4, stages="batch").solve(problem).details["epochs"] == {"stochastic": 4}
    assert Obscure(epochs=2).solve(problem).details["epochs"] == {"online": 2}


def test_an_online_epoch_without_an_update_ends_the_online_stage():
    problem = classes_problem(C=1000.0)
    result = Obscure(epochs=300, stages="online").solve(problem)
    assert result.status is Status.EPOCHS and result.n_iter < 100
    outputs = problem.outputs(Point(result.coef, result.weights, 0.0))
    assert problem.loss.value(outputs, problem.targets).max() <= 1e-9


def test_the_online_stage_is_made_as_long_as_is_best():
    problem = classes_problem(C=0.3)
    result = Obscure(epochs=3, stages="online").solve(problem)
    for length in (0.8, 0.97, 1.03, 1.25):
        longer = problem.primal(Point(length * result.coef, result.weights, np.zeros(3)))
        assert longer > result.primal
    assert result.details["radius"] <= np.sqrt(2 * result.primal) * (1 + 1e-6)


def test_with_check_gap_it_goes_on_until_the_gap_is_within_tol():
    problem = classes_problem()
    result = Obscure(epochs=5, check_gap=True).solve(problem, tol=1e-3)
    assert result.status.converged and result.gap <= 1e-3 and result.details["epochs"]["dual"] >= 1
    duals = [record.dual for record in result.history if np.isfinite(record.dual)]
    assert np.all(np.diff(duals) >= 0)
    assert Obscure(epochs=5, check_gap=True).solve(problem, tol=1e-9, max_iter=20).status is Status.MAX_ITER


def test_history_tells_the_objective_of_every_epoch():
    result = Obscure(epochs=20).solve(classes_problem())
    primals = [record.primal for record in result.history]
    assert len(primals) == 20 and primals == sorted(primals, reverse=True) and result.primal <= primals[-1]
    assert [record.seconds for record in result.history] == sorted(record.seconds for record in result.history)
    assert result.bytes_moved > 0


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("check_gap", [True, False])
def test_a_seed_repeats_bit_for_bit(shuffle, check_gap):
    solver = Obscure(epochs=8, shuffle=shuffle, check_gap=check_gap, random_state=5)
    one, two = (solver.solve(classes_problem(), tol=1e-3) for _ in range(2))
    np.testing.assert_array_equal(one.coef, two.coef)
    np.testing.assert_array_equal(one.weights, two.weights)
    assert (one.primal, one.dual) == (two.primal, two.dual)
    other = Obscure(epochs=8, shuffle=shuffle, check_gap=check_gap, random_state=6).solve(classes_problem(), tol=1e-3)
    assert not np.array_equal(one.coef, other.coef)


def test_drawing_with_replacement_converges_too():
    problem, matrices = small("hinge", 1.25)
    optimum = solve_mkl(matrices, problem.targets, problem.costs, "hinge", 1.25, intercept=False)
    result = Obscure(epochs=300, shuffle=False).solve(problem)
    assert_certified(problem, result)
    assert result.primal == pytest.approx(optimum, rel=2e-2)


# -- costs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check_gap", [True, False])
def test_samples_of_cost_zero_are_not_visited(check_gap):
    problem, _ = small("hinge", 1.5)
    costs = problem.costs.copy()
    costs[::3] = 0.0
    kept = np.flatnonzero(costs[:, 0])
    solver = Obscure(epochs=20, check_gap=check_gap)
    whole = solver.solve(replace(problem, costs=costs), tol=1e-4)
    part = MKLProblem(
        problem.bank.subset(kept), problem.targets[kept], problem.loss, problem.regularizer, costs[kept], False
    )
    assert not whole.coef[::3].any()
    assert whole.primal == pytest.approx(solver.solve(part, tol=1e-4).primal, rel=2e-4 if check_gap else 0.1)


def test_a_cost_is_as_good_as_so_many_samples():
    problem, _ = small("multiclass", 1.25)
    times = np.random.default_rng(0).integers(1, 4, size=24)
    repeated = np.repeat(np.arange(24), times)
    equal = np.full((len(repeated), 3), 2.0)
    many = MKLProblem(
        problem.bank.subset(repeated), problem.targets[repeated], problem.loss, problem.regularizer, equal, False
    )
    few = replace(problem, costs=np.repeat(2.0 * times[:, None], 3, axis=1))
    solver = Obscure(epochs=10, check_gap=True)
    assert solver.solve(few, tol=1e-5).primal == pytest.approx(solver.solve(many, tol=1e-5).primal, rel=2e-5)
    assert objective(few, Obscure(epochs=80).solve(few)) == pytest.approx(
        objective(many, Obscure(epochs=80).solve(many)), rel=0.05
    )


# -- stopping and going on ---------------------------------------------------------------------------------------------


def stop_at(iteration, error=None):
    def callback(record, weights):
        if record.iteration == iteration and error is not None:
            raise error
        return record.iteration == iteration

    return callback


@pytest.mark.parametrize("at", [1, 4, 7, 12])
@pytest.mark.parametrize("shuffle", [True, False])
def test_going_on_from_an_interrupted_solve_equals_the_uninterrupted_one(at, shuffle):
    problem = classes_problem()
    solver = Obscure(epochs=10, online_epochs=5, shuffle=shuffle, check_gap=True)
    whole = solver.solve(problem, tol=1e-3)
    assert whole.n_iter > 13
    for callback in (stop_at(at), stop_at(at, KeyboardInterrupt)):
        half = solver.solve(problem, tol=1e-3, callbacks=[callback])
        assert half.status in (Status.STOPPED, Status.INTERRUPTED)
        assert_certified(problem, half)
        rest = solver.solve(problem, tol=1e-3, start=pickle.loads(pickle.dumps(half)))
        np.testing.assert_array_equal(rest.coef, whole.coef)
        np.testing.assert_array_equal(rest.weights, whole.weights)
        assert (rest.primal, rest.dual) == (whole.primal, whole.dual)
        assert rest.details["updates"] == whole.details["updates"]
        again = solver.solve(problem, tol=1e-3, start=half)  # the state of a result is not used up
        np.testing.assert_array_equal(again.coef, whole.coef)


def test_ctrl_c_within_an_epoch_waits_for_the_end_of_a_block(monkeypatch):
    """A real signal, in the middle of the sixth epoch: nothing of a block is lost."""
    from polykern.solvers.samples import Samples

    problem = classes_problem()
    solver = Obscure(epochs=10, check_gap=True)
    whole, visit, n_blocks = solver.solve(problem, tol=1e-3), Samples._visit_block, [0]

    def interrupted_visit(self, *arguments):
        n_blocks[0] += 1
        if n_blocks[0] == 9:
            os.kill(os.getpid(), signal.SIGINT)
        visit(self, *arguments)

    monkeypatch.setattr(Samples, "_visit_block", interrupted_visit)
    half = solver.solve(problem, tol=1e-3)
    monkeypatch.undo()
    assert half.status is Status.INTERRUPTED and half.state.order is not None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    rest = solver.solve(problem, tol=1e-3, start=half)
    np.testing.assert_array_equal(rest.coef, whole.coef)


def test_a_time_limit_keeps_the_state():
    problem = classes_problem()
    half = Obscure(epochs=30).solve(problem, time_limit=0.0)
    assert half.status is Status.TIME_LIMIT and np.isfinite(half.primal)
    rest = Obscure(epochs=30).solve(problem, start=half)
    np.testing.assert_array_equal(rest.coef, Obscure(epochs=30).solve(problem).coef)
    assert rest.state is None


def test_another_solvers_result_is_a_place_to_start_from():
    problem = classes_problem()
    other = LpAnalytic().solve(problem, tol=1e-3)
    warm = Obscure(epochs=5, check_gap=True).solve(problem, tol=1e-2, start=other)
    assert warm.status.converged and "online" not in warm.details["epochs"]
    assert warm.n_iter <= 6
    fewer = classes_problem(n_kernels=2)
    with pytest.raises(ValueError, match=r"start has weights of shape \(3,\), expected \(2,\)"):
        Obscure().solve(fewer, start=other)


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "error", "sentence"),
    [
        (Obscure(epochs=0), ValueError, "epochs of Obscure is 0, expected a whole number from 1"),
        (Obscure(epochs=2.5), ValueError, "epochs of Obscure is 2.5, expected a whole number"),
        (Obscure(eta=0.0), ValueError, "eta of Obscure is 0.0, expected a positive number"),
        (Obscure(stages="first"), ValueError, "stages of Obscure is 'first', expected 'both', 'online' or 'batch'"),
        (Obscure(online_epochs=0), ValueError, "for no online stage set stages='batch'"),
        (Obscure(check_gap="yes"), TypeError, "check_gap of Obscure is 'yes', expected True or False"),
        (Pegasos(shuffle=None), TypeError, "shuffle of Pegasos is None, expected True or False"),
        (Obscure(random_state="x"), ValueError, "random_state of Obscure is 'x', expected a whole number"),
    ],
)
def test_bad_parameters_are_refused(solver, error, sentence):
    with pytest.raises(error, match=sentence):
        solver.solve(classes_problem(n=12))


def test_a_bias_is_refused_and_so_is_a_sparse_norm():
    with_bias, _ = small_problem("hinge", regularizers.GroupNorm(p=1.25))
    with pytest.raises(ValueError, match=r"Obscure has no bias, and fit_intercept is True; set it to False\."):
        Obscure().solve(with_bias)
    with pytest.raises(ValueError, match=r"Obscure handles weight sets with 1 < p <= inf; Simplex\(\) has p = 1\."):
        Obscure().solve(replace(with_bias, regularizer=regularizers.Simplex(), fit_intercept=False))
    one_class, _ = small_problem("one_class", regularizers.GroupNorm(p=1.25))
    with pytest.raises(ValueError, match="Obscure has no bias"):
        Obscure().solve(one_class)


def test_it_has_a_name():
    assert isinstance(as_solver("obscure"), Obscure)
    assert not Obscure.requires.exact and LpAnalytic.requires.exact


@pytest.mark.parametrize("solver", [Obscure, Pegasos])
def test_a_state_of_another_problem_is_no_certificate(solver):
    """Costs a thousand times as high: the bounds of the first solve say nothing of the second."""
    problem, _ = small_problem("multiclass", regularizers.LpBall(p=1.5), n=40)
    dear = replace(problem, costs=1e3 * problem.costs)
    first = solver(epochs=5).solve(problem, max_iter=2)
    going_on = solver(epochs=5).solve(dear, start=first)
    exact = choose_solver(dear).solve(dear, tol=1e-6)
    assert going_on.dual <= exact.primal * (1 + 1e-9) and going_on.primal >= exact.dual * (1 - 1e-9)
