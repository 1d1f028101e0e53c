"""The certificate of multiple kernel learning: bounds for every pair of loss and regularizer, KKT residuals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.mkl_cases import GROUPED, LOSSES, PARAMETERS, REGULARIZERS, small_problem
from oracles.mkl_cvxpy import solve_mkl
from polykern.problems import Point
from polykern.problems.mkl import as_columns

WEIGHT_SETS = REGULARIZERS | GROUPED
pairs = st.tuples(st.sampled_from(sorted(LOSSES)), st.sampled_from(sorted(REGULARIZERS)))


def random_point(problem, seed):
    rng = np.random.default_rng(seed)
    coef = problem.feasible(rng.normal(size=problem.targets.shape))
    weights = problem.regularizer.project(rng.uniform(0, 1, problem.bank.n_kernels))
    point = Point(coef, weights, np.zeros(problem.n_outputs))
    bias = problem.best_intercept(problem.outputs(point))
    return point._replace(intercept=bias)


@given(pairs, st.integers(0, 10**6), st.booleans(), st.sampled_from([1, 3]))
@settings(max_examples=80, deadline=None)
def test_gap_is_never_negative(pair, seed, intercept, n_outputs):
    """Fenchel-Young for the whole problem: any dual point lies below any primal point."""
    loss, regularizer = pair
    sizes = {"n": 10, "n_outputs": n_outputs, "seed": seed, "intercept": intercept}
    problem, _ = small_problem(loss, REGULARIZERS[regularizer], **sizes)
    one, other = random_point(problem, seed), random_point(problem, seed + 1)
    certificate = problem.certificate(one, other.coef)
    assert certificate.primal >= certificate.dual - 1e-9 * abs(certificate.primal)
    assert certificate.gap >= -1e-9


@pytest.mark.parametrize("regularizer", ["simplex", "p=1.5", "p=inf"])
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_bounds_enclose_the_optimum_of_cvxpy(loss, regularizer):
    problem, matrices = small_problem(loss, REGULARIZERS[regularizer], n=14, n_kernels=3)
    r = problem.regularizer.block_norm
    optimum = solve_mkl(
        matrices, problem.targets, problem.costs, loss, r, intercept=problem.fit_intercept, **PARAMETERS.get(loss, {})
    )
    certificate = problem.certificate(random_point(problem, 1))
    assert certificate.dual <= optimum + 1e-6 * abs(optimum)
    assert certificate.primal >= optimum - 1e-6 * abs(optimum)


def test_primal_and_dual_by_hand():
    """The two formulas, written out on one small case."""
    problem, matrices = small_problem("hinge", REGULARIZERS["p=2"], n=8, n_kernels=3)
    point = random_point(problem, 5)
    a, y, C = point.coef[:, 0], problem.targets[:, 0], problem.costs[:, 0]
    S = np.array([a @ K @ a for K in matrices])
    norms = point.weights * np.sqrt(S)
    f = sum(b * K @ a for b, K in zip(point.weights, matrices, strict=True)) + point.intercept[0]
    primal = 0.5 * np.sum(norms ** (4 / 3)) ** (3 / 2) + C @ np.maximum(0, 1 - y * f)
    dual = y @ a - 0.5 * np.sqrt(np.sum(S**2))
    certificate = problem.certificate(point)
    assert certificate.primal == pytest.approx(primal, rel=1e-12)
    assert certificate.dual == pytest.approx(dual, rel=1e-12)
    assert certificate.gap == pytest.approx((primal - dual) / primal, rel=1e-12)


def test_kkt_residuals_name_what_is_wrong():
    problem, _ = small_problem("hinge", REGULARIZERS["simplex"])
    point = random_point(problem, 2)
    worse = point._replace(weights=np.eye(5)[np.argmin(problem.forms(point.coef))])
    assert problem.kkt(worse)["weights"] > problem.kkt(point)["weights"] > 0
    assert problem.kkt(point._replace(coef=point.coef + 1))["intercept"] == pytest.approx(24.0)
    assert problem.kkt(point)["bounds"] < 1e-12 < problem.kkt(point._replace(coef=point.coef * 100))["bounds"]


@pytest.mark.parametrize("weight_set", sorted(WEIGHT_SETS))
@pytest.mark.parametrize(("loss", "n_outputs"), [("hinge", 1), ("squared", 3), ("one_class", 1)])
def test_kkt_residuals_add_up_to_the_gap(loss, weight_set, n_outputs):
    """Fenchel-Young of the losses and of Omega: their residuals are the whole gap, for points that sum rightly."""
    problem, _ = small_problem(loss, WEIGHT_SETS[weight_set], n_kernels=6, n_outputs=n_outputs)
    point = random_point(problem, 3)
    residuals = problem.kkt(point)
    assert residuals["loss"] + residuals["weights"] == pytest.approx(problem.certificate(point).gap, rel=1e-9)


@pytest.mark.parametrize("weight_set", sorted(WEIGHT_SETS))
def test_weights_are_right_only_where_their_residual_is_zero(weight_set):
    """Weights in closed form for these forms have none; others do, however large they make b . S."""
    problem, _ = small_problem("hinge", WEIGHT_SETS[weight_set], n=40, n_kernels=6)
    regularizer, coef = problem.regularizer, random_point(problem, 4).coef
    right = regularizer.lmo(problem.forms(coef))
    bias = np.zeros(1)
    assert problem.kkt(Point(coef, right, bias))["weights"] < 1e-12
    largest = right == right.max()
    for wrong in (np.where(largest, 0.5 * right, right), np.where(largest, 3.0 * right, right), 1.5 * right):
        assert problem.kkt(Point(coef, wrong, bias))["weights"] > 1e-3


def test_shapes_are_checked():
    problem, _ = small_problem("hinge", REGULARIZERS["simplex"])
    with pytest.raises(ValueError, match=r"targets has shape \(3, 1\), expected \(samples, outputs\) = \(24, 1\)"):
        type(problem)(problem.bank, np.ones((3, 1)), problem.loss, problem.regularizer, problem.costs, True)
    one_class = small_problem("one_class", REGULARIZERS["simplex"])[0]
    with pytest.raises(ValueError, match="needs a bias"):
        type(problem)(one_class.bank, one_class.targets, one_class.loss, one_class.regularizer, one_class.costs, False)


def test_as_columns():
    assert as_columns([1, 2]).shape == (2, 1) and as_columns(np.ones((2, 3))).shape == (2, 3)
