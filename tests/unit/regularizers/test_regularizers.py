"""The weight sets against brute force and cvxpy."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from oracles.mkl_cases import REGULARIZERS
from polykern.regularizers import GroupNorm, LpBall, Simplex, as_regularizer

names = st.sampled_from(sorted(REGULARIZERS))
norms = arrays(float, st.integers(1, 6), elements=st.floats(0, 10)).map(lambda t: np.where(t < 1e-3, 0, t))


def inside(regularizer, b, slack=1e-9):
    p = regularizer.weight_norm
    size = b.max() if np.isinf(p) else np.sum(b**p) ** (1 / p)
    return np.all(b >= 0) and size <= 1 + slack


@given(names, norms)
def test_weights_attain_omega(name, t):
    """Omega(t) = 1/2 sum t_k^2 / b_k at the closed-form weights, which lie in the weight set."""
    regularizer = REGULARIZERS[name]
    b = regularizer.weights(t)
    assert inside(regularizer, b)
    used = t > 0
    assert np.all(b[used] > 0)
    assert regularizer.value(t) == pytest.approx(0.5 * np.sum(t[used] ** 2 / b[used]), rel=1e-9)


@given(names, norms, st.integers(0, 10**6))
def test_no_other_weights_are_better(name, t, seed):
    regularizer = REGULARIZERS[name]
    other = regularizer.project(np.random.default_rng(seed).uniform(0, 1, len(t))) + 1e-12
    assert 0.5 * np.sum(t**2 / other) >= regularizer.value(t) * (1 - 1e-6)


@given(names, norms, norms)
def test_fenchel_young(name, t, s):
    regularizer = REGULARIZERS[name]
    size = min(len(t), len(s))
    t, s = t[:size], s[:size]
    assert regularizer.value(t) + regularizer.conjugate(s) >= t @ s - 1e-8


@given(names, norms)
def test_conjugate_is_half_the_best_combination(name, s):
    """Omega^*(s) = max_{b in B} 1/2 sum b_k s_k^2, attained by linear maximisation."""
    regularizer = REGULARIZERS[name]
    b = regularizer.lmo(s**2)
    assert inside(regularizer, b)
    assert regularizer.conjugate(s) == pytest.approx(0.5 * b @ s**2, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", sorted(REGULARIZERS))
@pytest.mark.parametrize("seed", range(3))
def test_projection_against_cvxpy(name, seed):
    regularizer = REGULARIZERS[name]
    point = np.random.default_rng(seed).normal(size=5) * 2
    b = cp.Variable(5, nonneg=True)
    p = regularizer.weight_norm
    ball = [cp.sum(b) == 1] if p == 1 else [cp.pnorm(b, "inf" if np.isinf(p) else p, approx=False) <= 1]
    distance = cp.Problem(cp.Minimize(cp.sum_squares(b - point)), ball).solve(solver=cp.CLARABEL)
    ours = regularizer.project(point)
    assert inside(regularizer, ours)
    assert np.sum((ours - point) ** 2) == pytest.approx(distance, rel=1e-6)  # strongly convex: the point is unique


@given(names, arrays(float, 4, elements=st.floats(-5, 5)))
@settings(max_examples=30)
def test_projection_is_idempotent_and_inside(name, point):
    regularizer = REGULARIZERS[name]
    once = regularizer.project(point)
    assert inside(regularizer, once)
    np.testing.assert_allclose(regularizer.project(once), once, atol=1e-9)


@pytest.mark.parametrize("size", [1e17, 1e200])
def test_projection_on_the_simplex_beside_huge_numbers(size):
    # Level projects gradients: with a large C, or one sample alone, the 1 of the simplex is below their last digit.
    np.testing.assert_allclose(Simplex().project([size, 0.0, -size]), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(Simplex().project([-size, -size]), [0.5, 0.5])


@pytest.mark.parametrize("p", [1.0, 1.3, 2.0, 4.0, np.inf])
def test_lp_ball_and_group_norm_are_one_family(p):
    t = np.array([3.0, 0.0, 1.0, 0.2])
    ball, group = LpBall(p=p), GroupNorm(p=2.0 if np.isinf(p) else 2 * p / (p + 1))
    assert ball.value(t) == pytest.approx(group.value(t))
    assert ball.conjugate(t) == pytest.approx(group.conjugate(t))
    np.testing.assert_allclose(ball.weights(t), group.weights(t), atol=1e-12)


def test_simplex_is_the_ball_of_p_one():
    t = np.array([2.0, 1.0, 0.0])
    np.testing.assert_allclose(Simplex().weights(t), LpBall(p=1.0).weights(t))
    assert Simplex().sparse and LpBall(p=1.0).sparse and not LpBall(p=2.0).sparse


def test_start_is_uniform_and_in_the_set():
    for regularizer in REGULARIZERS.values():
        b = regularizer.start(4)
        assert inside(regularizer, b) and np.ptp(b) == 0


@pytest.mark.parametrize(
    ("spec", "p"), [("l1", 1), ("l2", 2), (1.5, 1.5), (1, 1), ("linf", np.inf), (LpBall(p=3.0), 3), (np.float64(2), 2)]
)
def test_names_and_numbers_are_about_the_weights(spec, p):
    assert as_regularizer(spec).weight_norm == p


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (0.5, "p of the weight norm is 0.5, expected a number >= 1"),
        ("l3", "expected one of 'l1'"),
        ("simplx", "Did you mean 'simplex'"),
        ("L1", "regularizer is 'L1', .* Did you mean 'l1'"),
        ("LInf", "Did you mean 'linf'"),
        (GroupNorm(p=3), "expected a number from 1 to 2 .* use LpBall"),
        (float("nan"), "expected a number >= 1"),
    ],
)
def test_bad_regularizers_are_refused(spec, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_regularizer(spec)


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match="expected 'l1', 'l2', a number"):
        as_regularizer([1])
