"""The mixed norm against cvxpy, against its limits, and in the certificate of a problem."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from oracles.mkl_cases import small_problem
from oracles.mkl_cvxpy import omega, solve_mkl
from polykern.problems import Point
from polykern.regularizers import GroupNorm, MixedNorm, as_regularizer
from polykern.solvers import UFO, Obscure

BLOCK_NORMS = [1.0, 1.01, 1.25, 1.5, 2.0]
norms = arrays(float, st.integers(1, 6), elements=st.floats(0, 10)).map(lambda t: np.where(t < 1e-3, 0, t))
mixed = st.builds(MixedNorm, p=st.sampled_from(BLOCK_NORMS), l1=st.floats(0, 5))


@given(mixed, norms, norms)
def test_fenchel_young(regularizer, t, s):
    size = min(len(t), len(s))
    t, s = t[:size], s[:size]
    assert regularizer.value(t) + regularizer.conjugate(s) >= t @ s - 1e-8


@given(mixed, norms)
def test_the_conjugate_is_attained_where_lmo_says(regularizer, s):
    """t = b s with b = lmo(s^2) makes Fenchel-Young an equality."""
    t = regularizer.lmo(s**2) * s
    assert regularizer.value(t) + regularizer.conjugate(s) == pytest.approx(t @ s, rel=1e-9, abs=1e-9)
    assert not np.any(t[s <= regularizer.l1])


@given(mixed.filter(lambda regularizer: regularizer.p > 1.0), norms)
def test_weights_are_those_of_the_slopes_at_these_norms(regularizer, t):
    """b = t / s for the s at which t is optimal: from s, lmo gives them back."""
    b = regularizer.weights(t)
    s = np.divide(t, b, out=np.zeros_like(t), where=b > 0)
    assert regularizer.value(t) + regularizer.conjugate(s) == pytest.approx(t @ s, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(regularizer.lmo(s**2), b, atol=1e-6)


@pytest.mark.parametrize("l1", [0.0, 0.7, 3.0])
@pytest.mark.parametrize("p", BLOCK_NORMS)
def test_conjugate_against_cvxpy(p, l1):
    s = np.array([2.0, 1.0, 0.5, 0.0])
    t = cp.Variable(4, nonneg=True)
    best = cp.Problem(cp.Maximize(s @ t - omega(t, p) - l1 * cp.sum(t))).solve(solver=cp.CLARABEL)
    assert MixedNorm(p=p, l1=l1).conjugate(s) == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("p", BLOCK_NORMS)
def test_without_a_price_it_is_the_group_norm(p):
    ours, theirs, t = MixedNorm(p=p, l1=0.0), GroupNorm(p=p), np.array([3.0, 0.5, 1.0, 0.2])
    assert ours.value(t) == pytest.approx(theirs.value(t))
    assert ours.conjugate(t) == pytest.approx(theirs.conjugate(t))
    np.testing.assert_allclose(ours.weights(t), theirs.weights(t))
    np.testing.assert_allclose(ours.lmo(t**2), theirs.lmo(t**2))


@given(mixed, arrays(float, 4, elements=st.floats(-5, 5)))
def test_projection_is_into_the_ball_where_all_weights_lie(regularizer, point):
    once = regularizer.project(point)
    np.testing.assert_allclose(regularizer.project(once), once, atol=1e-9)
    ball = GroupNorm(regularizer.p)
    assert np.all(once >= 0)
    inside = regularizer.lmo(np.abs(point))
    np.testing.assert_allclose(regularizer.project(inside), inside, atol=1e-9)
    size = once.max() if np.isinf(ball.weight_norm) else np.sum(once**ball.weight_norm) ** (1 / ball.weight_norm)
    assert size <= 1 + 1e-9


def test_facts():
    assert MixedNorm(p=1.5, l1=0.1).sparse and MixedNorm(p=1.0, l1=0.0).sparse and not MixedNorm(p=1.5, l1=0.0).sparse
    assert not hasattr(MixedNorm(), "weight_norm")
    assert clone(MixedNorm(p=1.2, l1=3.0)).get_params() == {"p": 1.2, "l1": 3.0}
    assert as_regularizer(MixedNorm(p=1.2)).p == 1.2


@pytest.mark.parametrize(
    ("regularizer", "sentence"),
    [
        (MixedNorm(p=2.5), r"p of MixedNorm is 2.5, expected a number from 1 to 2"),
        (MixedNorm(l1=-1.0), r"l1 of MixedNorm is -1.0, expected a number >= 0"),
        (MixedNorm(l1=float("nan")), r"l1 of MixedNorm is nan, expected a number >= 0"),
    ],
)
def test_bad_parameters_are_refused(regularizer, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_regularizer(regularizer)


@pytest.mark.parametrize("l1", [0.5, 2.0])
@pytest.mark.parametrize("p", [1.1, 1.5, 2.0])
@pytest.mark.parametrize("loss", ["hinge", "multiclass", "squared"])
def test_problems_are_certified_and_their_optimum_is_that_of_cvxpy(loss, p, l1):
    problem, matrices = small_problem(loss, MixedNorm(p=p, l1=l1), n=18, n_kernels=4, seed=2, intercept=False)
    result = UFO(epochs=20, check_gap=True).solve(problem, tol=1e-4)
    assert result.status.converged and result.gap <= 1e-4
    again = problem.certificate(Point(result.coef, result.weights, result.intercept), result.dual_coef)
    assert again.primal == pytest.approx(result.primal, rel=1e-9)
    assert again.dual == pytest.approx(result.dual, rel=1e-9)
    optimum = solve_mkl(matrices, problem.targets, problem.costs, loss, p, l1=l1, intercept=False)
    assert result.dual <= optimum * (1 + 1e-6) and optimum * (1 - 1e-6) <= result.primal
    kkt = problem.kkt(Point(result.coef, result.weights, result.intercept))
    assert kkt["weights"] <= 1e-4 and kkt["loss"] <= 1e-3


def test_a_higher_price_leaves_fewer_kernels_exactly():
    problem, _ = small_problem("hinge", MixedNorm(p=1.5, l1=0.0), n=30, n_kernels=8, intercept=False)
    kept = []
    for l1 in (0.0, 3.0, 6.0, 100.0):
        priced = replace(problem, regularizer=MixedNorm(p=1.5, l1=l1))
        kept.append(np.count_nonzero(UFO(epochs=20, check_gap=True).solve(priced, tol=1e-3).weights))
    assert kept == sorted(kept, reverse=True) and kept[0] == 8 and kept[-1] == 0 and 0 < kept[2] < 8, kept


def test_only_ufo_takes_it():
    problem, _ = small_problem("hinge", MixedNorm(), n=12, intercept=False)
    with pytest.raises(ValueError, match=r"Obscure does not handle MixedNorm\. .*one of: UFO"):
        Obscure().solve(problem)
