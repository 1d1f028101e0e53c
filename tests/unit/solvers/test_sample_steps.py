"""The compiled steps against plain loops over explicit features, and against recomputed norms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oracles.bank import force
from oracles.mkl_cases import JOINT, LOSSES, small_problem
from oracles.sample_steps import PlainSteps
from polykern.bank import build_bank
from polykern.bank.plan import MEMMAP, ON_THE_FLY
from polykern.kernels import RBF, Precomputed
from polykern.regularizers import GroupNorm, MixedNorm
from polykern.solvers import sample_steps
from polykern.solvers.sample_steps import HARMONIC, ONLINE, PROJECTED, UPDATES
from polykern.solvers.samples import LOSSES as WRITTEN_OUT
from polykern.solvers.samples import Samples, smallest

EVERY_LOSS = LOSSES | JOINT
LIPSCHITZ = ["epsilon_insensitive", "hinge", "logistic", "multiclass", "smooth_hinge"]
ALL_LOSSES = [*LIPSCHITZ, "squared", "squared_hinge"]


def case(loss="multiclass", p=1.25, **options):
    problem, matrices = small_problem(loss, GroupNorm(p=p), **{"n": 20, "n_kernels": 3, "intercept": False} | options)
    return problem, matrices, Samples(problem)


def run(samples, state, rule, orders):
    """Epochs in given orders."""
    for order in orders:
        state.order, state.position = np.asarray(order, dtype=np.intp), 0
        assert samples.descend(state, rule, shuffle=True, deadline=None)


def orders_for(n, n_epochs=3):
    return [np.random.default_rng(epoch).permutation(n) for epoch in range(n_epochs)]


def assert_same_point(samples, state, plain):
    """Norms, and outputs of all samples."""
    samples.refresh(state)
    np.testing.assert_allclose(np.sqrt(state.forms), plain.norms() / plain.q, rtol=1e-8)
    outputs = samples.point(state)[1]
    np.testing.assert_allclose(outputs, [plain.outputs(i) for i in range(len(outputs))], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("p", [1.01, 1.25, 2.0])
@pytest.mark.parametrize("loss", LIPSCHITZ)
def test_the_online_stage_is_algorithm_1(loss, p):
    problem, matrices, samples = case(loss, p)
    plain, state = PlainSteps(problem, matrices), samples.fresh(0)
    run(samples, state, samples.rule(ONLINE, 2.0), orders_for(20))
    updates = sum(plain.online(order, 2.0) for order in orders_for(20))
    assert state.numbers[UPDATES] == updates > 0
    assert_same_point(samples, state, plain)


@pytest.mark.parametrize("p", [1.1, 1.5, 2.0])
@pytest.mark.parametrize("loss", LIPSCHITZ)
def test_the_stochastic_stage_is_algorithm_2(loss, p):
    problem, matrices, samples = case(loss, p)
    plain, state = PlainSteps(problem, matrices), samples.fresh(0)
    radius = 3.0  # so small that the projection is at work
    run(samples, state, samples.rule(PROJECTED, radius), orders_for(20))
    plain.projected(np.concatenate(orders_for(20)), radius)
    assert_same_point(samples, state, plain)


@pytest.mark.parametrize("loss", LIPSCHITZ)
def test_harmonic_steps_are_algorithm_2_without_s_and_r(loss):
    problem, matrices, samples = case(loss, 1.5)
    plain, state = PlainSteps(problem, matrices), samples.fresh(0)
    run(samples, state, samples.rule(HARMONIC), orders_for(20))
    plain.projected(np.concatenate(orders_for(20)), np.inf)
    assert_same_point(samples, state, plain)


def test_harmonic_steps_with_a_price_are_ufo():
    """theta is the sum of all subgradients there; ours is its mean, and the price stands beside that."""
    problem, matrices = small_problem("hinge", MixedNorm(p=1.5, l1=1.0), n=20, n_kernels=4, intercept=False)
    samples, plain = Samples(problem), PlainSteps(problem, matrices, l1=1.0)
    state = samples.fresh(0)
    run(samples, state, samples.rule(HARMONIC), orders_for(20, 2))
    plain.projected(np.concatenate(orders_for(20, 2)), np.inf)
    assert_same_point(samples, state, plain)
    assert np.any(state.weights == 0) or np.all(np.sqrt(state.forms) > 1.0)


def test_samples_that_are_drawn_twice_in_a_block_see_their_own_change():
    problem, matrices, samples = case()
    plain, state = PlainSteps(problem, matrices), samples.fresh(0)
    order = np.random.default_rng(3).integers(20, size=60)
    run(samples, state, samples.rule(ONLINE, 2.0), [order])
    plain.online(order, 2.0)
    assert_same_point(samples, state, plain)


def test_several_outputs_and_uneven_costs():
    problem, matrices = small_problem("hinge", GroupNorm(p=1.25), n=20, n_kernels=3, n_outputs=3, intercept=False)
    costs = problem.costs.copy()
    costs[4] = 0.0
    costs[5, 1] = 0.0
    problem = replace(problem, costs=costs)
    samples, plain = Samples(problem), PlainSteps(problem, matrices)
    state = samples.fresh(0)
    kept = [order[order != 4] for order in orders_for(20)]
    run(samples, state, samples.rule(PROJECTED, 5.0), kept)
    plain.projected(np.concatenate(kept), 5.0)
    assert_same_point(samples, state, plain)
    assert not state.coef[4].any() and not state.coef[5, 1]


@pytest.mark.parametrize("rule", [(ONLINE, 2.0), (PROJECTED, 4.0), (HARMONIC, 0.0)])
@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_incremental_norms_and_products_are_those_made_anew(loss, rule):
    problem, _, samples = case(loss, 1.25, n=150)
    state = samples.fresh(1)
    for _ in range(4):
        samples.descend(state, samples.rule(*rule), shuffle=True, deadline=None)
    assert state.numbers[UPDATES] > 100
    coef = state.scale * state.coef
    np.testing.assert_allclose(state.forms, problem.forms(coef), rtol=1e-8)
    scores = np.swapaxes(problem.bank.scores(coef), 1, 2)
    np.testing.assert_allclose(state.scale * state.products, scores, atol=1e-9 * np.abs(scores).max())


@pytest.mark.parametrize("p", [1.01, 1.25, 2.0])
@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_dual_steps_raise_the_dual_value_and_stay_feasible(loss, p):
    problem, _, samples = case(loss, p, n=40)
    state = samples.fresh(2)
    values = [problem.dual(state.coef)]
    for _ in range(30):
        samples.ascend(state, shuffle=True, deadline=None)
        values.append(problem.dual(state.coef))
        np.testing.assert_allclose(problem.feasible(state.coef), state.coef, atol=1e-9)
    assert np.all(np.diff(values) >= -1e-9 * abs(values[-1])) and values[-1] > values[1] > values[0]
    np.testing.assert_allclose(state.forms, problem.forms(state.coef), rtol=1e-8)


@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_a_dual_step_on_one_kernel_is_the_best_there_is(loss):
    """With one kernel nothing turns, so the step maximises the dual in one sample's coefficients exactly."""
    problem, _, samples = case(loss, 1.5, n_kernels=1, n=8)
    state = samples.fresh(0)
    samples.ascend(state, shuffle=True, deadline=None)
    state.order, state.position = np.array([3]), 0
    samples.ascend(state, shuffle=True, deadline=None)
    best, rng = problem.dual(state.coef), np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(50):
            other = state.coef.copy()
            other[3] += size * rng.standard_normal(other.shape[1])
            assert problem.dual(problem.feasible(other)) <= best + 1e-9 * abs(best)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "hinge", "multiclass"])
def test_parts_of_the_gap_add_up_to_it(loss):
    problem, _, samples = case(loss, 1.5, n=30)
    state = samples.fresh(0)
    for _ in range(3):
        samples.ascend(state, shuffle=True, deadline=None)
    samples.refresh(state)
    point, outputs = samples.point(state)
    number = samples.loss
    parts = [
        sample_steps.missing(number, point.coef[i], outputs[i], problem.targets[i], problem.costs[i]) for i in range(30)
    ]
    primal, dual = problem.primal(point), problem.dual(point.coef)
    assert sum(parts) == pytest.approx(primal - dual, rel=1e-8) and min(parts) >= -1e-12


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_size_of_blocks_changes_nothing(size, monkeypatch):
    problem, _, samples = case(n=50)
    states = [samples.fresh(0), samples.fresh(0)]
    states[1].block_size = size
    for state in states:
        samples.descend(state, samples.rule(ONLINE, 2.0), shuffle=True, deadline=None)
    np.testing.assert_allclose(states[0].coef, states[1].coef)
    np.testing.assert_allclose(states[0].products, states[1].products, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_bank_gives_the_same_steps(dtype, monkeypatch):
    """In memory, computed in blocks, in a file, gathered from the user's matrices; one kernel is there twice."""
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = np.where(X[:, :1] > 0, 1.0, -1.0)
    kernels = [RBF(gamma=0.3), RBF(gamma=2.0), RBF(gamma=0.3)]
    dense = build_bank(kernels, X, dtype=dtype)
    others = []
    for storage in (ON_THE_FLY, MEMMAP):
        force(monkeypatch, storage)
        others.append(build_bank(kernels, X, dtype=dtype))
    monkeypatch.undo()
    matrices = [np.array(K, order="C") for K in dense.blocks(slice(0, 60), slice(0, 60))]
    shuffled = np.random.default_rng(1).permutation(60)
    given = [Precomputed(K[np.ix_(shuffled, shuffled)]) for K in matrices]
    gathered = build_bank(given, np.argsort(shuffled), dtype=dtype, normalize=None)
    problem, _ = small_problem("hinge", GroupNorm(p=1.25), n=60, intercept=False)
    found = []
    for bank in (dense, *others, gathered):
        samples = Samples(replace(problem, bank=bank, targets=y))
        state = samples.fresh(0)
        samples.descend(state, samples.rule(ONLINE, 2.0), shuffle=True, deadline=None)
        samples.ascend(state, shuffle=True, deadline=None)
        found.append((samples.by_sample.in_memory is not None, samples.point(state)[1]))
    assert [in_memory for in_memory, _ in found] == [True, False, False, False]
    for _, outputs in found[1:]:
        np.testing.assert_allclose(outputs, found[0][1], atol=1e-4 if dtype == "float32" else 1e-10)


def test_losses_that_are_not_written_out_are_refused():
    problem, _ = small_problem("one_class", GroupNorm(p=1.5))
    assert type(problem.loss) not in WRITTEN_OUT
    with pytest.raises(ValueError, match=r"loss is OneClass.*expected one of MulticlassHinge, Hinge"):
        Samples(problem)


def test_smallest_finds_the_minimum_of_a_convex_function():
    assert smallest(lambda x: (x - 0.3) ** 2, 0.0, 2.0, 40) == pytest.approx(0.3, abs=1e-6)
    assert smallest(lambda x: x, 0.0, 1.0) == 0.0 and smallest(lambda x: -x, 0.0, 1.0) == 1.0
