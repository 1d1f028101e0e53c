"""What is special about the interior point method: its Newton system, the kernels it leaves out, sparse answers."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.mkl_cases import LOSSES, REGULARIZERS, small_problem
from polykern.bank import build_bank
from polykern.kernels import RBF, OnColumns, Precomputed
from polykern.losses import Hinge
from polykern.problems import MKLProblem
from polykern.solvers import SILP, InteriorPoint
from polykern.solvers.interior_point import _Iterate, _Newton


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_a_step_solves_the_linearised_conditions(loss):
    """Each condition, linearised by hand at the start, holds after a whole predictor step."""
    problem, matrices = small_problem(loss, REGULARIZERS["simplex"], n=12, n_kernels=4)
    it = _Iterate(problem, None)
    outputs = it.weights @ it.forces + it.ones @ it.bias
    stiffness, pull = it.box.linearise(outputs, 0.0, corrected=False)
    newton = _Newton.of(it.layout.system(it.combined, stiffness), it.forces, it.weights / it.slacks, it.ones)
    d_t, d_weights, d_slacks, d_bias = it._direction(newton, stiffness, pull, 0.0, np.zeros(4))
    d_coef = sum(side.sign * side.step for side in it.box.sides)
    K_b = np.tensordot(it.weights, matrices, 1)
    assert np.sum(it.weights + d_weights) == pytest.approx(1.0)
    assert np.sum(it.box.coef + d_coef) == pytest.approx(problem.loss.bias_sum, abs=1e-9)
    np.testing.assert_allclose(it.forms + 2 * it.forces @ d_coef + it.slacks + d_slacks, it.t + d_t)
    np.testing.assert_allclose(it.weights * d_slacks + it.slacks * d_weights, -it.weights * it.slacks, rtol=1e-7)
    change = K_b @ d_coef + it.forces.T @ d_weights + it.ones @ d_bias
    np.testing.assert_allclose(stiffness * d_coef + change, pull, rtol=1e-6, atol=1e-8)


def test_kernels_that_do_not_matter_are_left_out_and_the_answer_is_that_of_all(monkeypatch):
    from polykern.solvers import interior_point

    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 60, 3))
    matrices = [f @ f.T for f in features]
    y = np.sign(features[0, :, 0] + features[1, :, 1] + 0.3 * rng.normal(size=60))
    bank = build_bank([Precomputed(K) for K in matrices], np.arange(60), normalize="trace")
    problem = MKLProblem(bank, y[:, None], Hinge(), REGULARIZERS["simplex"], np.full((60, 1), 100.0), True)
    few = InteriorPoint().solve(problem, tol=1e-6)
    monkeypatch.setattr(interior_point, "FAR", np.inf)
    monkeypatch.setattr(interior_point, "FEW_KERNELS", 1000)
    everything = InteriorPoint().solve(problem, tol=1e-6)
    assert few.status.converged and everything.status.converged
    assert few.primal == pytest.approx(everything.primal, rel=2e-6)
    assert few.n_kernel_products < 0.7 * everything.n_kernel_products


def test_weights_and_coefficients_that_are_headed_for_zero_are_zero():
    """As many kernels and support vectors as the cutting planes' answer, which has exact zeros by construction."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 40))
    y = np.sign(X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=120))
    matrices = [np.outer(x, x) for x in X.T]
    bank = build_bank([Precomputed(K) for K in matrices], np.arange(120), normalize="trace")
    problem = MKLProblem(bank, y[:, None], Hinge(), REGULARIZERS["simplex"], np.full((120, 1), 100.0), True)
    result, exact = (solver().solve(problem, tol=1e-5) for solver in (InteriorPoint, SILP))
    assert result.status.converged and exact.status.converged
    assert np.count_nonzero(result.weights) <= np.count_nonzero(exact.weights > 1e-5) + 1 < 40
    assert np.count_nonzero(result.coef) <= np.count_nonzero(exact.coef) + 3 < 100
    assert result.weights.sum() == pytest.approx(1.0)


def test_a_warm_start_is_used():
    problem, _ = small_problem("hinge", REGULARIZERS["simplex"], n=40, n_kernels=10)
    cold = InteriorPoint().solve(problem, tol=1e-4)
    warm = InteriorPoint().solve(problem, tol=1e-4, start=cold)
    assert warm.n_iter < cold.n_iter


def test_numbers_beyond_floating_point_end_in_a_status_not_an_exception():
    problem, _ = small_problem("hinge", REGULARIZERS["simplex"], n=20, n_kernels=3)
    result = InteriorPoint().solve(problem, tol=1e-30, max_iter=200)
    assert not result.status.converged and result.gap < 1e-7


def near_duplicates(seed, n=30, n_kernels=1000):
    """Gaussians of a thousand widths on three features, a large C: as in the scaling figure of the VSKL paper."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    widths = np.geomspace(0.3, 30.0, -(-n_kernels // 3))
    kernels = [OnColumns(RBF.from_sigma(float(width)), [column]) for width in widths for column in range(3)]
    bank = build_bank(kernels[:n_kernels], X, normalize="trace")
    return MKLProblem(bank, y[:, None], Hinge(), REGULARIZERS["simplex"], np.full((n, 1), 1000.0), True)


@pytest.mark.parametrize("seed", [5, 11, 13, 25, 27])
def test_a_thousand_near_duplicates_do_not_stall_it(seed):
    """Half of them left at a time, and the weights summed to a fifth: t rose a thousandfold, and no step was left."""
    problem = near_duplicates(seed)
    result = InteriorPoint().solve(problem, tol=1e-3)
    assert result.status.converged and result.n_iter <= 40, result


def test_those_that_leave_leave_their_weight_to_the_others():
    it = _Iterate(near_duplicates(0), None)
    it.settled = True
    before = it.weights.sum()
    it._leave_out()
    assert len(it.kernels) == 500
    assert it.weights.sum() == pytest.approx(before)


def test_where_steps_are_short_it_begins_anew_with_all_kernels(monkeypatch):
    from polykern.solvers import interior_point

    problem = near_duplicates(0, n_kernels=300)
    usual = InteriorPoint().solve(problem, tol=1e-5)
    monkeypatch.setattr(interior_point, "SHORT_STEP", np.inf)  # every step is one
    anew = InteriorPoint().solve(problem, tol=1e-5)
    assert anew.status.converged and anew.primal == pytest.approx(usual.primal, rel=1e-5)
    assert anew.n_kernel_products > usual.n_kernel_products
