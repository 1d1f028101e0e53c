"""Low precision first, high precision last: float32 kernels do not keep a gap from closing."""

from __future__ import annotations

import numpy as np
import pytest

from polykern.bank import build_bank
from polykern.kernels import RBF, Precomputed
from polykern.losses import Hinge, Squared
from polykern.problems import MKLProblem, Point
from polykern.regularizers import LpBall
from polykern.solvers import LpAnalytic, run


@pytest.fixture
def problem():
    """Large costs, kernels that are nearly constant: outputs are differences of large numbers."""
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(60, 3)) for _ in range(40)]
    y = np.sign(features[0][:, :1] + 0.5 * rng.normal(size=(60, 1)))
    matrices = [Precomputed(30.0 + f @ f.T) for f in features]
    bank = build_bank(matrices, np.arange(60), normalize="trace", dtype="float32")
    return MKLProblem(bank, y, Hinge(), LpBall(p=1.5), np.full((60, 1), 1000.0), True)


def test_a_tight_gap_is_reached_and_true(problem, monkeypatch):
    result = LpAnalytic().solve(problem, tol=1e-9, max_iter=40)
    assert result.status.converged
    assert primal_of(problem, result) == pytest.approx(result.primal, rel=1e-12)
    stay_rough(monkeypatch)
    rough = LpAnalytic().solve(problem, tol=1e-9, max_iter=40)
    assert abs(primal_of(problem, rough) - rough.primal) > 1e-9 * rough.primal, "the test has lost its point"


def stay_rough(monkeypatch):
    monkeypatch.setattr(run.Run, "_rounding", lambda self: 0.0)


def primal_of(problem, result):
    """The primal value with all sums in float64."""
    return problem.primal(Point(result.coef, result.weights, result.intercept))


def test_the_combined_matrix_may_be_of_float64():
    rng = np.random.default_rng(1)
    matrices = [(f @ f.T).astype(np.float32) for f in rng.normal(size=(40, 60, 3))]
    bank = build_bank([Precomputed(K) for K in matrices], np.arange(60), normalize=None, dtype="float32")
    weights = rng.random(40)
    double = bank.combine(weights, dtype="float64")
    np.testing.assert_allclose(double, np.tensordot(weights, np.float64(matrices), 1), rtol=1e-12, atol=1e-12)
    assert double.dtype == np.float64 and bank.combine(weights).dtype == np.float32


def test_the_primal_value_is_right_where_float32_sums_are_not(monkeypatch):
    """Squared loss, nearly interpolating: sums in float32 are off by half of this tolerance, either way."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(150, 3))
    y = 10.0 * np.sin(3.0 * X[:, :1]) + rng.normal(size=(150, 1))
    bank = build_bank([RBF(gamma=0.01 * 2**k) for k in range(6)], X, dtype="float32")
    problem = MKLProblem(bank, y, Squared(), LpBall(p=np.inf), np.full((150, 1), 1000.0), True)
    result = LpAnalytic().solve(problem, tol=1e-3)
    assert result.status.converged and result.primal == pytest.approx(primal_of(problem, result), rel=1e-7)
    stay_rough(monkeypatch)
    rough = LpAnalytic().solve(problem, tol=1e-3)
    assert abs(rough.primal / primal_of(problem, rough) - 1) > 1e-4, "the test has lost its point"


def test_the_primal_value_is_right_where_no_matrix_of_float64_fits(problem, monkeypatch):
    monkeypatch.setattr(type(problem.bank), "fits_combined_double", False)
    result = LpAnalytic().solve(problem, tol=1e-9, max_iter=40)
    assert result.primal == pytest.approx(primal_of(problem, result), rel=1e-12)
