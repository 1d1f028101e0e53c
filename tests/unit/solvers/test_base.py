"""The loop around every solver: limits, callbacks, Ctrl-C, refusals."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from oracles.mkl_cases import REGULARIZERS, small_problem
from polykern import regularizers
from polykern.machines import SMO
from polykern.problems.result import Status
from polykern.solvers import SILP, Auto, LpAnalytic, SimpleMKL, as_solver
from polykern.solvers.progress import ProgressLines


@pytest.fixture
def problem():
    return small_problem("hinge", REGULARIZERS["simplex"], n=40, n_kernels=10)[0]


def test_max_iter_is_a_status_not_an_error(problem):
    result = SILP().solve(problem, tol=1e-12, max_iter=2)
    assert result.status is Status.MAX_ITER and result.n_iter == 2 and result.gap > 1e-12


def test_time_limit_returns_what_was_reached(problem):
    result = SILP().solve(problem, tol=1e-14, time_limit=0.0)
    assert result.status is Status.TIME_LIMIT and np.isfinite(result.primal)


def test_callbacks_see_every_iteration_and_may_stop(problem):
    seen = []

    def stop_at_three(record, weights):
        seen.append((record.iteration, weights.sum()))
        return record.iteration == 3

    result = SILP().solve(problem, tol=1e-12, callbacks=[stop_at_three])
    assert result.status is Status.STOPPED
    assert [i for i, _ in seen] == [1, 2, 3] and all(s == pytest.approx(1) for _, s in seen)


def test_ctrl_c_returns_the_best_so_far_with_its_gap(problem):
    def interrupt(record, weights):
        if record.iteration == 2:
            raise KeyboardInterrupt

    result = SimpleMKL().solve(problem, tol=1e-12, callbacks=[interrupt])
    assert result.status is Status.INTERRUPTED
    assert result.gap == pytest.approx((result.primal - result.dual) / result.primal)
    assert problem.certificate((result.coef, result.weights, result.intercept) and _point(result)).primal == (
        pytest.approx(result.primal)
    )


def test_ctrl_c_before_anything_is_reached_is_passed_on(problem, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("polykern.solvers.run.Run.evaluate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        SILP().solve(problem)


def test_history_is_monotone_and_counts_the_work(problem):
    result = SILP().solve(problem, tol=1e-4)
    gaps = [record.gap for record in result.history]
    assert gaps == sorted(gaps, reverse=True)
    assert len(result.history) == result.n_iter
    products = [record.n_kernel_products for record in result.history]
    assert products == sorted(products) and 0 < products[-1] <= result.n_kernel_products
    assert result.bytes_moved > 0 and result.seconds > 0


def test_the_machines_of_every_output_are_counted(monkeypatch):
    """Against the machines that were really solved, line by line of the history."""
    solved, seen = [], []

    class Counted:
        def solve(self, *given, **settings):
            solved.append(SMO().solve(*given, **settings))
            return solved[-1]

    monkeypatch.setattr("polykern.solvers.run.machine_for", lambda loss: Counted())
    problem = small_problem("hinge", REGULARIZERS["simplex"], n_outputs=3)[0]
    result = SILP().solve(problem, tol=1e-4, callbacks=[lambda record, _: seen.append(len(solved))])
    assert [record.n_machines for record in result.history] == seen
    assert result.n_machines == len(solved) > 3


def test_progress_lines():
    stream = io.StringIO()
    problem = small_problem("hinge", REGULARIZERS["p=2"])[0]
    result = LpAnalytic().solve(problem, callbacks=[ProgressLines(stream)])
    lines = stream.getvalue().splitlines()
    assert lines[0].split() == ["iteration", "gap", "kernels", "elapsed"]
    assert len(lines) == 1 + result.n_iter


def test_a_pair_that_a_solver_does_not_handle_names_the_ones_that_do():
    problem = small_problem("hinge", regularizers.LpBall(p=2.0))[0]
    with pytest.raises(ValueError, match=r"SILP handles weight sets with p = 1 .* has p = 2.*one of: .*LpAnalytic"):
        SILP().solve(problem)


def test_a_group_norm_is_named_with_both_its_numbers():
    problem = small_problem("hinge", regularizers.GroupNorm(p=1.5))[0]
    with pytest.raises(ValueError, match=r"GroupNorm\(p=1.5\), which is LpBall\(3\), has p = 3"):
        SILP().solve(problem)


def test_start_of_other_kernels_is_refused(problem):
    other = SILP().solve(small_problem("hinge", REGULARIZERS["simplex"], n_kernels=3)[0])
    with pytest.raises(ValueError, match=r"start has weights of shape \(3,\), expected \(10,\)"):
        SILP().solve(problem, start=other)


def test_solver_names():
    assert isinstance(as_solver("silp"), SILP)
    assert isinstance(as_solver("auto"), Auto)
    with pytest.raises(ValueError, match="Did you mean 'SimpleMKL'"):
        as_solver("simplmkl")
    with pytest.raises(TypeError, match="expected 'auto' or an object"):
        as_solver(3)


def _point(result):
    from polykern.problems import Point

    return Point(result.coef, result.weights, result.intercept)


@pytest.mark.parametrize("solver", ["Level", "QuadraticBundle", "SILP"])
def test_weights_that_are_zero_at_the_start_are_zero_at_the_end(solver):
    """A start that is good enough ends the solve: projecting it must not make 1e-17 of zeros."""
    problem = small_problem("hinge", REGULARIZERS["simplex"], n=40, n_kernels=10)[0]
    cold = SILP().solve(problem, tol=1e-6)
    uneven = replace(cold, weights=cold.weights * (1 + 1e-12))
    warm = as_solver(solver).solve(problem, tol=1e-2, start=uneven)
    assert np.count_nonzero(warm.weights) == np.count_nonzero(cold.weights) < 10


@pytest.mark.parametrize("p", [1.05, 2.0, np.inf])
def test_a_sparse_result_is_a_start_for_p_above_1(p):
    """Closed-form weights multiply: from weights that are zero they never came back, and the solve stalled."""
    sparse = SILP().solve(small_problem("hinge", REGULARIZERS["simplex"], n=40, n_kernels=10)[0], tol=1e-6)
    assert np.any(sparse.weights == 0)
    problem = small_problem("hinge", regularizers.LpBall(p=p), n=40, n_kernels=10)[0]
    cold, warm = (LpAnalytic().solve(problem, tol=1e-6, start=start) for start in (None, sparse))
    assert warm.status.converged and warm.primal == pytest.approx(cold.primal, rel=2e-6)
