"""Groups of kernels: the saddle problem, its oracle, the models of the level method, mirror descent."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

from oracles.mkl_cases import GROUP_OF, GROUPED, REGULARIZERS, small_problem
from oracles.mkl_cvxpy import solve_mkl
from polykern.bank import build_bank
from polykern.kernels import RBF, OnColumns
from polykern.losses import Hinge
from polykern.problems import MKLProblem
from polykern.regularizers import GroupedNorm
from polykern.regularizers.level_set import project_on_level_set
from polykern.regularizers.simplices import Simplices
from polykern.solvers import SILP, Level, MirrorDescent
from polykern.solvers.mirror_descent import oracle, step_down_to
from polykern.solvers.planes import planes_for
from polykern.solvers.run import Run
from polykern.solvers.saddle import Saddle

GROUPS = np.array(GROUP_OF)
SIMPLICES = Simplices(GROUPS)
FORMS = np.array([4.0, 9.0, 1.0, 2.0, 16.0, 3.0])
QS = [0.75, 0.9, 1.0, 1.5, 2.0, np.inf]
SADDLE_QS = [q for q in QS if q >= 1]


def grouped_problem(q, **options):
    return small_problem("hinge", GroupedNorm(GROUP_OF, q), n=30, n_kernels=6, seed=7, **options)


def run_on(problem, tol=1e-8):
    return Run(problem, tol=tol, max_iter=1000, time_limit=None, callbacks=())


def random_shares(saddle, seed):
    return saddle.simplices.normalised(np.random.default_rng(seed).uniform(0.1, 1, len(GROUPS)))


# ---- products of simplices ----


def test_each_simplex_is_projected_by_itself():
    point = np.random.default_rng(0).normal(size=6)
    expected = cvxpy.Variable(6, nonneg=True)
    sums = [cvxpy.sum(expected[np.flatnonzero(j == GROUPS)]) == 1 for j in range(3)]
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(expected - point)), sums).solve(solver=cvxpy.CLARABEL)
    np.testing.assert_allclose(SIMPLICES.project(point), expected.value, atol=1e-6)


def test_shares_where_a_simplex_is_empty():
    shares = SIMPLICES.normalised(np.array([0.0, 3.0, 0.0, 2.0, 1.0, 0.0]))
    np.testing.assert_allclose(shares, [1 / 3, 0.75, 1 / 3, 1.0, 0.25, 1 / 3])
    np.testing.assert_allclose(SIMPLICES.center(), [1 / 3, 1 / 2, 1 / 3, 1.0, 1 / 2, 1 / 3])
    assert SIMPLICES.largest_size == 3


def test_the_mirror_step_against_plain_loops():
    point, step = SIMPLICES.normalised(np.arange(1.0, 7.0)), np.array([0.3, -1.0, 0.0, 5.0, 2.0, 1.0])
    moved = SIMPLICES.exponential_step(point, step, 1e-12)
    for k, group in enumerate(GROUP_OF):
        total = sum(point[i] * np.exp(step[i]) for i in range(6) if GROUP_OF[i] == group)
        assert moved[k] == pytest.approx(point[k] * np.exp(step[k]) / total)
    far = SIMPLICES.exponential_step(point, 1e4 * step, 1e-6)  # no overflow, exact zeros
    assert far.tolist() == [0, 0, 0, 1, 1, 1]
    assert SIMPLICES.exponential_step(far, -20 * step, 1e-6)[1] > 0.9  # a share of zero comes back


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_point_of_a_level_set_in_a_product_of_simplices(seed):
    rng = np.random.default_rng(seed)
    center, inside = (SIMPLICES.normalised(rng.uniform(size=6)) for _ in range(2))
    slopes = rng.normal(size=(4, 6))
    limits = slopes @ inside + 0.01
    b = cvxpy.Variable(6, nonneg=True)
    sums = [cvxpy.sum(b[np.flatnonzero(j == GROUPS)]) == 1 for j in range(3)]
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(b - center)), [*sums, slopes @ b <= limits]).solve(
        solver=cvxpy.CLARABEL
    )
    point, _ = project_on_level_set(center, slopes, limits, domain=SIMPLICES)
    assert np.all(slopes @ point <= limits + 1e-7)
    np.testing.assert_allclose(point, b.value, atol=1e-4)


# ---- the saddle problem ----


@pytest.mark.parametrize("q", SADDLE_QS)
def test_no_gamma_is_better_than_the_closed_form(q):
    saddle = Saddle.of(grouped_problem(q)[0])
    shares = random_shares(saddle, 0)
    best = saddle.best_scales(shares, FORMS)
    value = 0.5 * saddle.weights(shares, best) @ FORMS
    assert saddle.quadratic_parts(shares, FORMS[np.newaxis]) == pytest.approx([value])
    if not saddle.has_scales:
        assert q == 1.0 and best.tolist() == [1, 1, 1]
        return
    assert np.linalg.norm(best, saddle.exponent) == pytest.approx(1.0)
    for point in np.random.default_rng(1).uniform(0.01, 1, size=(200, 3)):
        other = point / np.linalg.norm(point, saddle.exponent)
        assert 0.5 * saddle.weights(shares, other) @ FORMS >= value * (1 - 1e-12)


@pytest.mark.parametrize("q", SADDLE_QS)
def test_the_best_lambda_of_the_saddle_problem_gives_the_conjugate(q):
    """max over lambda, min over gamma of 1/2 sum_j D_j / gamma_j is Omega^* at sqrt(S)."""
    problem, _ = grouped_problem(q)
    saddle, conjugate = Saddle.of(problem), problem.regularizer.conjugate(np.sqrt(FORMS))
    best, _ = saddle.split(problem.regularizer.lmo(FORMS))
    assert saddle.quadratic_parts(best, FORMS[np.newaxis])[0] == pytest.approx(conjugate)
    for seed in range(50):
        assert saddle.quadratic_parts(random_shares(saddle, seed), FORMS[np.newaxis])[0] <= conjugate * (1 + 1e-12)


@pytest.mark.parametrize("q", SADDLE_QS)
def test_shares_and_scales_of_weights(q):
    problem, _ = grouped_problem(q)
    saddle = Saddle.of(problem)
    shares = random_shares(saddle, 0)
    weights = problem.regularizer.project(saddle.weights(shares, saddle.best_scales(shares, FORMS)))
    again, scales = saddle.split(weights)
    np.testing.assert_allclose(saddle.simplices.sums(again), 1.0)
    np.testing.assert_allclose(saddle.weights(again, scales), weights)
    np.testing.assert_allclose(saddle.weights(*saddle.start()), problem.regularizer.start(6))


def test_nothing_said_yet_leaves_gamma_even():
    saddle = Saddle.of(grouped_problem(2.0)[0])
    assert np.ptp(saddle.best_scales(saddle.start()[0], np.zeros(6))) == 0
    assert saddle.split(np.array([1.0, 0, 0, 0, 0, 0]))[1].min() > 0


# ---- the oracle of mirror descent: block coordinate ascent ----


@pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 5.0])
def test_the_oracle_against_cvxpy_and_a_slow_loop(q):
    """At fixed lambda the problem is one with a single kernel, sum_k lambda_k K_k, in each group."""
    problem, matrices = grouped_problem(q)
    saddle, run = Saddle.of(problem), run_on(problem)
    shares, scales = random_shares(saddle, 3), saddle.start()[1]
    first = run.evaluate(saddle.weights(shares, scales))
    while True:
        last, better = oracle(run, saddle, shares, scales, first)
        if np.allclose(better, scales, rtol=1e-6):
            break
        scales = better
    combined = [sum(shares[k] * matrices[k] for k in np.flatnonzero(j == GROUPS)) for j in range(3)]
    value = solve_mkl(combined, problem.targets, problem.costs, "hinge", q, group_of=[0, 1, 2])
    assert last.lower == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(better, slow_scales(combined, problem, q), rtol=1e-2)


def slow_scales(combined, problem, q, rounds=60):
    """gamma by turns: the machine at it by cvxpy, then Proposition 3.3 in plain loops."""
    gamma, star = [1.0] * len(combined), np.inf if q == 1 else q / (q - 1)
    for _ in range(rounds if q > 1 else 1):
        a = machine_by_cvxpy(sum(K / g for K, g in zip(combined, gamma, strict=True)), problem)
        D = [float(a @ K @ a) for K in combined]
        if q == 1:
            break
        total = sum(d ** (star / (star + 1)) for d in D) ** (1 / star)
        gamma = [d ** (1 / (star + 1)) / total for d in D]
    return gamma


def machine_by_cvxpy(K, problem):
    y, costs = problem.targets[:, 0], problem.costs[:, 0]
    a = cvxpy.Variable(len(y))
    root = np.linalg.cholesky(K + 1e-9 * np.trace(K) * np.eye(len(K)))
    bounds = [cvxpy.multiply(y, a) >= 0, cvxpy.multiply(y, a) <= costs, cvxpy.sum(a) == 0]
    cvxpy.Problem(cvxpy.Maximize(y @ a - 0.5 * cvxpy.sum_squares(root.T @ a)), bounds).solve(solver=cvxpy.CLARABEL)
    return a.value


# ---- mirror descent ----


@pytest.mark.parametrize("q", [1.0, 2.0])
def test_the_steps_are_those_of_the_paper(q):
    """lambda^{t+1} = lambda^t exp(-s_t G') / sum, s_t = A sqrt(log n_max) / |G'|_inf / sqrt(t)."""
    problem, _ = grouped_problem(q)
    solver, run, A = MirrorDescent(step_scale=1.5), run_on(problem), 1.5
    state = solver.init(problem, run, None)
    expected = state.shares
    for t in (1, 2, 3):
        state = solver.step(problem, run, state)
        gradient = [-0.5 * state.last.forms[k] / state.scales[GROUP_OF[k]] for k in range(6)]
        step = A * np.sqrt(np.log(3)) / max(abs(g) for g in gradient) / np.sqrt(t)
        moved = [expected[k] * np.exp(-step * gradient[k]) for k in range(6)]
        expected = [m / sum(moved[i] for i in range(6) if GROUP_OF[i] == GROUP_OF[k]) for k, m in enumerate(moved)]
        np.testing.assert_allclose(state.shares, expected, rtol=1e-9)


@pytest.mark.parametrize("regularizer", ["groups q=1", "groups q=2", "groups q=inf"])
def test_the_plain_paper_steps_get_there_too(regularizer):
    problem, matrices = small_problem("hinge", GROUPED[regularizer], n=30, n_kernels=6, seed=7)
    result = MirrorDescent(step_scale=20.0).solve(problem, tol=1e-3)
    q = problem.regularizer.q
    optimum = solve_mkl(matrices, problem.targets, problem.costs, "hinge", q, group_of=GROUP_OF)
    assert result.status.converged and result.primal == pytest.approx(optimum, rel=1e-3)


@pytest.mark.parametrize("q", [1.0, 2.0, np.inf])
def test_a_step_goes_until_the_plane_of_the_last_point_is_at_the_level(q):
    problem, _ = grouped_problem(q)
    run, solver = run_on(problem), MirrorDescent(share=0.4)
    state = solver.init(problem, run, None)
    reached = []
    for _ in range(8):
        state = solver.step(problem, run, state)
        level = 0.6 * run.hoped_bound + 0.4 * run.upper
        plane = -state.last.conjugate - 0.5 * state.last.forms @ (state.shares / state.scales[GROUPS])
        reached.append(plane == pytest.approx(level, rel=1e-3))
        assert reached[-1] or plane > level and np.count_nonzero(state.shares) == 3  # one kernel each: no farther
    assert any(reached)


def test_a_step_to_a_level_is_the_exponential_one():
    """lambda_k exp(s d_k) / sum for the one s that gives d . lambda = aim, against bisection in plain loops."""
    shares, descent, aim = random_shares(Saddle.of(grouped_problem(2.0)[0]), 0), np.arange(6.0, 0.0, -1.0), 12.2
    low, high = 0.0, 100.0
    for _ in range(100):
        size = 0.5 * (low + high)
        moved = [shares[k] * np.exp(size * descent[k]) for k in range(6)]
        moved = [moved[k] / sum(moved[i] for i in range(6) if GROUP_OF[i] == GROUP_OF[k]) for k in range(6)]
        low, high = (size, high) if sum(descent * moved) < aim else (low, size)
    np.testing.assert_allclose(step_down_to(SIMPLICES, shares, descent, aim), moved, rtol=1e-3)
    assert step_down_to(SIMPLICES, shares, descent, 1e3).tolist() == [1, 1, 0, 1, 0, 0]  # there is no such step


@pytest.mark.parametrize("solver", [Level(), MirrorDescent()])
@pytest.mark.parametrize("q", [1.0, 2.0, np.inf])
def test_every_group_one_kernel(solver, q):
    """The paper's step size is zero then; only gamma moves. Definite kernels, as it asks for at q = inf."""
    problem, matrices = small_problem("hinge", GroupedNorm([0, 1, 2, 3], q), n=24, n_kernels=4, seed=1, rank=24)
    result = solver.solve(problem, tol=1e-5)
    optimum = solve_mkl(matrices, problem.targets, problem.costs, "hinge", q, group_of=[0, 1, 2, 3])
    assert result.status.converged and result.primal == pytest.approx(optimum, rel=2e-5)


@pytest.mark.parametrize("solver", [Level(), MirrorDescent()])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(("groups", "rank"), [([0, 1, 2, 3], None), ([0, 1, 2, 3], 1), (GROUP_OF, 1), (GROUP_OF, None)])
def test_groups_that_cost_nothing_at_infinity(solver, loss, groups, rank):
    """Kernels of rank 1 and 2, some groups below the largest u_j: free, their gamma zero and their weight infinite."""
    problem, matrices = small_problem(loss, GroupedNorm(groups, np.inf), n_kernels=len(groups), seed=1, rank=rank)
    result = solver.solve(problem, tol=1e-4)
    optimum = solve_mkl(matrices, problem.targets, problem.costs, loss, np.inf, group_of=groups)
    assert result.status.converged and result.primal == pytest.approx(optimum, rel=2e-4)


def test_gamma_may_be_smaller_the_smaller_the_gap_that_is_left():
    saddle = Saddle.of(grouped_problem(np.inf)[0])
    shares, forms = saddle.start()[0], np.array([4.0, 0.0, 1.0, 2.0, 0.0, 3.0])  # group 1 says nothing
    assert [saddle.least_scale(gap) for gap in (np.inf, 3e-3, 0.0)] == pytest.approx([0.1, 1e-3, 1e-8])
    for least in (0.1, 1e-3):
        scales = saddle.best_scales(shares, forms, least)
        assert scales[1] / scales.max() == pytest.approx(least) and scales.sum() == pytest.approx(1.0)


def test_one_group_is_the_simplex():
    problem, _ = small_problem("hinge", GroupedNorm([0] * 6, 2.0), n=30, n_kernels=6)
    plain, _ = small_problem("hinge", REGULARIZERS["simplex"], n=30, n_kernels=6)
    by_groups, by_simplex = (MirrorDescent().solve(p, tol=1e-3) for p in (problem, plain))
    np.testing.assert_array_equal(by_groups.weights, by_simplex.weights)
    assert by_simplex.primal == pytest.approx(Level().solve(plain, tol=1e-6).primal, rel=1e-3)


@pytest.mark.parametrize("scale", [0, -1.0, float("nan")])
def test_a_step_scale_that_is_none(scale):
    with pytest.raises(ValueError, match="step_scale of MirrorDescent is .*, expected a positive number such as 20.0"):
        MirrorDescent(step_scale=scale).solve(grouped_problem(2.0)[0])
    with pytest.raises(ValueError, match="share of MirrorDescent is .*, expected a number between 0 and 1"):
        MirrorDescent(share=scale).solve(grouped_problem(2.0)[0])


def test_refusals_name_the_solvers_that_do():
    with pytest.raises(ValueError, match=r"SILP does not handle GroupedNorm\. .* one of: Level, MirrorDescent"):
        SILP().solve(grouped_problem(2.0)[0])
    with pytest.raises(ValueError, match=r"MirrorDescent handles groups with q >= 1; .* q = 0.75\. .* one of: Level\."):
        MirrorDescent().solve(grouped_problem(0.75)[0])


# ---- the level method on groups ----


@pytest.mark.parametrize("q", SADDLE_QS)
def test_planes_lie_below_the_objective_and_refining_raises_them(q):
    """Every plane is below what its a says at any lambda; after refining one of them is it."""
    problem, _ = grouped_problem(q)
    saddle, run = Saddle.of(problem), run_on(problem)
    planes = planes_for(problem, 1.0)
    first = run.evaluate(problem.regularizer.start(6))
    planes.start_at(first)

    def said(point):
        return -first.conjugate - saddle.quadratic_parts(point, first.forms[np.newaxis])[0]

    def model(point):
        slopes, heights = planes.below(0.0)
        return float(np.max(slopes @ point - heights))

    for seed in range(20):
        point = random_shares(saddle, seed)
        assert model(point) <= said(point) + 1e-9 * abs(said(point))
        assert planes.refine(point, said(point) - 1.0) == saddle.has_scales
        assert model(point) == pytest.approx(said(point), rel=1e-9)
    assert not planes.refine(point, said(point) + 1.0)


@pytest.mark.parametrize("q", [q for q in QS if q < 1])
def test_tangents_hold_the_ball_of_group_sums(q):
    """The model's minimum ends on the ball, and no point of the ball is beyond a tangent."""
    problem, _ = grouped_problem(q)
    run, planes = run_on(problem), planes_for(problem, 1.0)
    planes.start_at(run.evaluate(problem.regularizer.start(6)))
    model = planes.minimum()
    assert planes.refine(1.5 * model.weights, 0.0)
    while planes.refine(planes.minimum().weights, 0.0):
        pass
    lowest = planes.minimum()
    for seed in range(20):
        inside = problem.regularizer.project(np.random.default_rng(seed).random(6))
        slopes, heights = planes.below(0.0)
        assert np.max(slopes @ inside - heights) >= lowest.bound - 1e-9 * abs(lowest.bound)
    on_sphere = planes.weights_at(lowest.weights, 0.1, np.zeros(1))
    np.testing.assert_allclose(on_sphere, problem.regularizer.project(on_sphere), rtol=1e-9)


@pytest.mark.parametrize(("q", "most"), [(0.75, 35), (0.99, 35), (1.0, 35), (2.0, 35), (np.inf, 120)])
def test_few_machines_on_views_of_several_widths(q, most):
    rng = np.random.default_rng(0)
    y = np.where(rng.uniform(size=150) < 0.5, -1.0, 1.0)
    X = rng.normal(size=(150, 12)) + np.outer(y, np.repeat([0.5, 0.3, 0.0, 0.1], 3))
    views = [list(range(3 * j, 3 * j + 3)) for j in range(4)]
    kernels = [OnColumns(RBF(gamma=gamma), view) for view in views for gamma in (0.03, 0.1, 0.3, 1.0)]
    bank = build_bank(kernels, X)
    regularizer = GroupedNorm(np.repeat(np.arange(4), 4), q).bind(bank, y)
    problem = MKLProblem(bank, y[:, None], Hinge(), regularizer, np.full((150, 1), 5.0), True)
    result = Level().solve(problem, tol=1e-6)
    assert result.status.converged and result.n_machines <= most
