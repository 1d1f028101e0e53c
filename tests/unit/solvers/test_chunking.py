"""Weights and coefficients together: outputs by kernel, rows read, planes dropped, the optimum on the tiniest sets."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.mkl_cases import LOSSES, PARAMETERS, REGULARIZERS, random_kernels, small_problem
from oracles.mkl_cvxpy import solve_mkl
from polykern import losses
from polykern.bank import KernelBank, build_bank
from polykern.kernels import RBF, OnColumns, Precomputed
from polykern.problems import MKLProblem
from polykern.problems.result import Status
from polykern.solvers import Chunking, Level, chunking
from polykern.solvers.chunking import _OutputsByKernel, _Rows
from polykern.solvers.cuts import CuttingPlanes
from polykern.solvers.run import Run

SIMPLEX = REGULARIZERS["simplex"]
PIECEWISE_LINEAR = ["hinge", "epsilon_insensitive", "one_class"]


def bank_of(matrices):
    return build_bank([Precomputed(K) for K in matrices], np.arange(len(matrices[0])), normalize=None)


def two_clouds(n=300, memory="auto", kernels=None):
    """Two Gaussian clouds that touch: few support vectors."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, 4)) + 3.0 * y[:, np.newaxis] * np.array([1.0, 0.5, 0.0, 0.0])
    kernels = [RBF(gamma=g) for g in (0.02, 0.1, 0.5, 2.0)] if kernels is None else kernels
    bank = build_bank(kernels, X, memory=memory, n_jobs=1)  # every thread has buffers, which the memory pays for
    return MKLProblem(bank, y[:, np.newaxis], losses.Hinge(), SIMPLEX, np.full((n, 1), 10.0), True)


# -- the parts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_outputs_by_kernel_follow_every_change(n_outputs):
    """Against K_k @ a kernel by kernel, after changes of a few rows."""
    rng, matrices = np.random.default_rng(0), random_kernels(20, 4, seed=1)
    coef = rng.normal(size=(20, n_outputs))
    outputs = _OutputsByKernel(bank_of(matrices), coef.copy())
    for _ in range(5):
        change = np.zeros_like(coef)
        change[rng.permutation(20)[:3]] = rng.normal(size=(3, n_outputs))
        outputs.add(change)
        coef += change
    weights = np.array([0.1, 0.2, 0.0, 0.7])
    expected = sum(b * K @ coef for b, K in zip(weights, matrices, strict=True))
    np.testing.assert_allclose(outputs.combined(weights), expected, atol=1e-10)
    np.testing.assert_allclose(outputs.forms(coef), [np.trace(coef.T @ K @ coef) for K in matrices], rtol=1e-10)


@pytest.mark.parametrize("capacity", [6, 9, 20])
def test_rows_are_those_of_the_combined_kernel_however_few_are_kept(capacity):
    rng, matrices = np.random.default_rng(0), random_kernels(20, 3, seed=2)
    rows = _Rows(bank_of(matrices))
    rows.capacity = capacity
    for weights in (np.array([1.0, 0.0, 0.0]), np.array([0.2, 0.5, 0.3])):
        rows.use(weights)
        combined = np.tensordot(weights, matrices, 1)
        np.testing.assert_allclose(rows.diagonal, np.diag(combined))
        for _ in range(10):
            idx = np.sort(rng.permutation(20)[: rng.integers(1, 7)])
            kept, places = rows.fetch(idx)
            np.testing.assert_allclose(kept[places], combined[idx], atol=1e-12)
            assert len(kept) <= capacity


def test_planes_that_are_dropped_leave_the_program_and_the_bounds_that_were_suggested():
    """The program without them is one that never had them; a bound suggested before is proved all the same."""
    problem, _ = small_problem("hinge", SIMPLEX, n=30, n_kernels=5, seed=4)
    run = Run(problem, tol=1e-9, max_iter=1, time_limit=None, callbacks=[])
    points = [run.evaluate(w, tol=1e-10) for w in np.random.default_rng(0).dirichlet(np.ones(5), size=8)]
    planes, few = CuttingPlanes(5, run.upper), CuttingPlanes(5, run.upper)
    for point in points:
        planes.add(point)
    kept = np.arange(8) % 3 != 1
    for point in np.array(points, dtype=object)[kept]:
        few.add(point)
    model = planes.suggest(run)
    planes.keep(kept)
    run.prove_hint()
    assert run.bound >= model.bound * (1 - 1e-9)
    assert planes.minimum().bound == pytest.approx(few.minimum().bound)
    assert planes.minimum().bound <= model.bound * (1 + 1e-9)
    planes.keep(np.ones(kept.sum(), dtype=bool))
    assert len(planes.minimum().multipliers) == kept.sum()


# -- the optimum -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 0.5])
@pytest.mark.parametrize("working_set", [2, 7])
@pytest.mark.parametrize("loss", PIECEWISE_LINEAR)
def test_optimum_is_that_of_cvxpy_on_the_tiniest_working_sets(loss, working_set, share, monkeypatch):
    """Without the growth of the set, and with a plane forgotten as soon as it is idle twice."""
    monkeypatch.setattr(chunking, "_n_free", lambda descent: 0)
    monkeypatch.setattr(chunking, "IDLE_STEPS", 2)
    problem, matrices = small_problem(loss, SIMPLEX, n=24, n_kernels=6, seed=9)
    result = Chunking(working_set, share).solve(problem, tol=1e-6)
    assert result.status.converged, result
    optimum = solve_mkl(matrices, problem.targets, problem.costs, loss, 1, **PARAMETERS.get(loss, {}))
    assert result.primal == pytest.approx(optimum, rel=2e-6)
    assert result.dual <= optimum + 1e-6 * abs(optimum) + 1e-9


@pytest.mark.parametrize("intercept", [True, False])
def test_outputs_that_share_their_weights_reach_the_optimum_of_cvxpy(intercept):
    problem, matrices = small_problem("hinge", SIMPLEX, n=20, n_kernels=5, seed=3, n_outputs=3, intercept=intercept)
    result = Chunking(working_set=6).solve(problem, tol=1e-6)
    optimum = solve_mkl(matrices, problem.targets, problem.costs, "hinge", 1, intercept=intercept)
    assert result.status.converged and result.primal == pytest.approx(optimum, rel=2e-6)


@pytest.mark.parametrize(("memory", "storage"), [("1GB", "dense"), ("3MB", "on the fly"), ("3MB", "memmap")])
def test_wherever_the_kernels_are(memory, storage, monkeypatch):
    """No whole matrix is read: neither combined, nor multiplied by a full vector."""
    if storage == "memmap":
        expensive = [_slow(RBF(gamma=g)) for g in (0.02, 0.1, 0.5, 2.0)]
        problem = two_clouds(memory=memory, kernels=expensive)
    else:
        problem = two_clouds(memory=memory)
    assert storage in problem.bank.explain()
    expected = Level().solve(two_clouds(), tol=1e-5).primal
    monkeypatch.setattr(KernelBank, "combine", _refused)
    monkeypatch.setattr(KernelBank, "sweep", _refused)
    result = Chunking(working_set=40).solve(problem, tol=1e-4)
    assert result.status.converged and result.primal == pytest.approx(expected, rel=1.1e-4)


def _refused(*_, **__):
    raise AssertionError("a whole matrix is read")


def _slow(kernel):
    """A kernel that the plan takes for dear, so that it is kept in a file where memory is short."""

    class Dear(type(kernel)):
        def entry_cost(self, n_features):
            return 1e6

    return Dear(**kernel.get_params())


# -- what it saves ---------------------------------------------------------------------------------------------


def test_only_rows_of_samples_that_matter_are_read(monkeypatch):
    """Few support vectors: most samples are in no working set, and none of their rows is read."""
    read = {"one by one": set(), "together": set()}
    scores, rows = KernelBank.scores, KernelBank.rows

    def watched_scores(bank, coef, **options):
        read["one by one"] |= set(np.flatnonzero(np.asarray(coef).any(axis=1)).tolist())
        return scores(bank, coef, **options)

    def watched_rows(bank, idx, weights):
        read["together"] |= set(np.asarray(idx).tolist())
        return rows(bank, idx, weights)

    problem = two_clouds()
    monkeypatch.setattr(KernelBank, "scores", watched_scores)
    monkeypatch.setattr(KernelBank, "rows", watched_rows)
    result = Chunking(working_set=20).solve(problem)
    support = set(np.flatnonzero(result.coef[:, 0]).tolist())
    assert support <= read["one by one"] <= read["together"]
    assert len(support) < 60 and len(read["together"]) < 150  # of 300


def test_the_level_takes_fewer_steps_than_the_lowest_point():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 20))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 0] + 0.2 * rng.normal(size=150) > 0, 1.0, -1.0)
    kernels = [OnColumns(RBF(gamma=g), [j]) for j in range(20) for g in (0.1, 0.5, 2.0)]
    bank = build_bank(kernels, X, normalize="trace")
    problem = MKLProblem(bank, y[:, np.newaxis], losses.Hinge(), SIMPLEX, np.full((150, 1), 100.0), True)
    level, vertex = (Chunking(share=share).solve(problem) for share in (0.5, 0))
    assert level.status.converged and vertex.status.converged
    assert level.primal == pytest.approx(vertex.primal, rel=1e-3)
    assert 2 * level.n_iter < vertex.n_iter


# -- as a solver among others ----------------------------------------------------------------------------------


def test_it_goes_on_from_a_similar_result():
    problem = two_clouds()
    cold = Chunking().solve(problem, tol=1e-4)
    dearer = MKLProblem(problem.bank, problem.targets, problem.loss, SIMPLEX, 1.2 * problem.costs, True)
    warm, anew = (Chunking().solve(dearer, tol=1e-4, start=start) for start in (cold, None))
    assert warm.status.converged and warm.n_iter < anew.n_iter
    with pytest.raises(ValueError, match=r"start has weights of shape \(4,\), expected \(5,\)"):
        Chunking().solve(small_problem("hinge", SIMPLEX)[0], start=cold)


def test_ctrl_c_in_the_middle_of_an_update_loses_nothing(monkeypatch):
    problem, calls, scores = two_clouds(), [], KernelBank.scores

    def interrupted(bank, coef, **options):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return scores(bank, coef, **options)

    monkeypatch.setattr(KernelBank, "scores", interrupted)
    result = Chunking().solve(problem, tol=1e-9)
    monkeypatch.undo()
    assert result.status is Status.INTERRUPTED and result.n_iter == 3
    again = problem.certificate(_point(result), result.dual_coef)
    assert again.primal == pytest.approx(result.primal) and again.dual == pytest.approx(result.dual)


def test_a_time_limit_ends_it_inside_a_step():
    result = Chunking(working_set=2).solve(two_clouds(), tol=1e-12, time_limit=0.0)
    assert result.status is Status.TIME_LIMIT and np.isfinite(result.primal)


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (Chunking(share=1.0), r"share of Chunking is 1.0, expected a number in \[0, 1\)"),
        (Chunking(working_set=1), "working_set of Chunking is 1, expected at least 2 samples"),
    ],
)
def test_wrong_parameters_are_refused(solver, message):
    with pytest.raises(ValueError, match=message):
        solver.solve(two_clouds(n=20))


@pytest.mark.parametrize("loss", sorted(set(LOSSES) - set(PIECEWISE_LINEAR)))
def test_losses_without_a_box_are_refused(loss):
    with pytest.raises(ValueError, match="Chunking handles piecewise linear losses only.*one of: .*Level"):
        Chunking().solve(small_problem(loss, SIMPLEX)[0])


def _point(result):
    from polykern.problems import Point

    return Point(result.coef, result.weights, result.intercept)
