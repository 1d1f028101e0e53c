"""Groups of kernels against their definition, brute force and cvxpy; groups as users write them."""

from __future__ import annotations

import pickle

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from polykern.bank import build_bank
from polykern.kernels import RBF
from polykern.regularizers import GroupedNorm, LpBall, Simplex, as_regularizer

GROUPS = [[0, 3], [1], [2, 4, 5]]
GROUP_OF = np.array([0, 1, 2, 0, 2, 2])
QS = [0.5, 0.6, 0.75, 1.0, 1.5, 2.0, 5.0, np.inf]
FULL = [q for q in QS if q > 0.5]

q_values = st.sampled_from(QS)
norms = arrays(float, 6, elements=st.floats(0, 10)).map(lambda t: np.where(t < 1e-3, 0, t))


def sums_of(values):
    return np.array([sum(values[k] for k in members) for members in GROUPS])


def omega(t, q):
    """The definition in plain loops."""
    sums = [sum(abs(t[k]) for k in members) for members in GROUPS]
    if np.isinf(q):
        return 0.5 * max(sums) ** 2
    return 0.5 * sum(u ** (2 * q) for u in sums) ** (1 / q)


def gammas(q, seed, n=200):
    """Points gamma > 0 with |gamma|_e = 1, e = q / (q - 1)."""
    points = np.random.default_rng(seed).uniform(0.01, 1, size=(n, len(GROUPS)))
    e = np.inf if q == 1 else (1.0 if np.isinf(q) else q / (q - 1))
    return points / np.linalg.norm(points, ord=e, axis=1, keepdims=True)


def shares(seed, n=200):
    """Points of the product of simplices."""
    points = np.random.default_rng(seed).uniform(0, 1, size=(n, 6)) ** 3 + 1e-9
    return np.array([p / sums_of(p)[GROUP_OF] for p in points])


def weight_set_norm(b, q):
    """The norm of the sums within groups that is 1 on the weight set (q < 1)."""
    return np.linalg.norm(sums_of(b), ord=q / (1 - q))


# ---- the function and its conjugate ----


@given(q_values, norms)
def test_value_is_the_definition(q, t):
    assert GroupedNorm(GROUPS, q).value(t) == pytest.approx(omega(t, q), rel=1e-9)


@given(q_values, norms, norms)
def test_fenchel_young(q, t, s):
    regularizer = GroupedNorm(GROUPS, q)
    assert regularizer.value(t) + regularizer.conjugate(s) >= t @ s - 1e-8


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize("seed", range(2))
def test_conjugate_against_cvxpy(q, seed):
    """max_t t . s - Omega(t)."""
    s = np.random.default_rng(seed).uniform(0, 2, size=6)
    t = cp.Variable(6, nonneg=True)
    sums = cp.hstack([cp.sum(t[members]) for members in GROUPS])
    size = cp.max(sums) if np.isinf(q) else cp.pnorm(sums, 2 * q, approx=False)
    best = cp.Problem(cp.Maximize(s @ t - 0.5 * cp.square(size))).solve(solver=cp.CLARABEL)
    assert GroupedNorm(GROUPS, q).conjugate(s) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 5.0, np.inf])
def test_conjugate_of_groups_is_the_formula_of_the_paper(q):
    """[ sum_j (max_k S_jk)^r ]^{1/r}, r = q / (2q - 1)."""
    S = np.array([4.0, 9.0, 1.0, 2.0, 16.0, 3.0])
    r = 0.5 if np.isinf(q) else q / (2 * q - 1)
    expected = 0.5 * sum(largest**r for largest in (4.0, 9.0, 16.0)) ** (1 / r)
    assert GroupedNorm(GROUPS, q).conjugate(np.sqrt(S)) == pytest.approx(expected)


# ---- weights ----


@given(q_values, norms)
def test_weights_attain_omega(q, t):
    """Omega(t) = 1/2 sum t_k^2 / b_k at the closed-form weights."""
    regularizer = GroupedNorm(GROUPS, q)
    b, used = regularizer.weights(t), t > 0
    assert np.all(b >= 0) and np.all(b[used] > 0)
    assert regularizer.value(t) == pytest.approx(0.5 * np.sum(t[used] ** 2 / b[used]), rel=1e-9)


@pytest.mark.parametrize("q", [0.6, 0.75, 1.0])
@given(t=norms, seed=st.integers(0, 10**6))
def test_no_other_weights_are_better_for_q_up_to_1(q, t, seed):
    regularizer = GroupedNorm(GROUPS, q)
    other = regularizer.project(np.random.default_rng(seed).uniform(1e-3, 1, 6))
    assert 0.5 * np.sum(t**2 / other) >= regularizer.value(t) * (1 - 1e-9)


@pytest.mark.parametrize("q", [1.5, 2.0, 5.0, np.inf])
def test_weights_for_q_above_1_are_a_saddle_point(q):
    """No lambda makes 1/2 sum gamma_j t_k^2 / lambda_k smaller, no gamma larger."""
    t = np.array([3.0, 1.0, 0.5, 0.2, 2.0, 1.0])
    if np.isinf(q):  # two largest groups, or the third had no gamma
        t = np.array([3.0, 1.0, 0.5, 0.2, 2.0, 0.7])
    regularizer = GroupedNorm(GROUPS, q)
    value, b = regularizer.value(t), regularizer.weights(t)
    sums = sums_of(t)
    gamma, split = 1 / np.where(sums_of(b) > 0, sums_of(b), np.inf), t / sums[GROUP_OF]
    for other in gammas(q, 0):
        assert 0.5 * np.sum(other[GROUP_OF] * t**2 / split) <= value * (1 + 1e-9)
    for other in shares(1):
        assert 0.5 * np.sum(gamma[GROUP_OF] * t**2 / other) >= value * (1 - 1e-9)


def test_weights_of_groups_that_say_nothing():
    assert GroupedNorm(GROUPS, 1.0).weights([1, 0, 0, 1, 0, 0]).tolist() == [0.5, 1, 1 / 3, 0.5, 1 / 3, 1 / 3]
    assert GroupedNorm(GROUPS, 0.75).weights([1, 0, 0, 1, 0, 0]).tolist() == [0.5, 0, 0, 0.5, 0, 0]
    assert GroupedNorm(GROUPS, 2.0).weights(np.zeros(6)).min() > 0
    assert np.isinf(GroupedNorm(GROUPS, 500.0).weights([1, 1e-3, 1, 1, 1, 1])[1])


@given(q_values, norms)
def test_lmo_attains_the_conjugate(q, s):
    """1/2 b . S = Omega^*(sqrt(S))."""
    regularizer = GroupedNorm(GROUPS, q)
    b = regularizer.lmo(s**2)
    assert regularizer.conjugate(s) == pytest.approx(0.5 * b @ s**2, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("q", FULL)
def test_lmo_is_a_maximum_or_a_saddle_point(q):
    """q <= 1: no b of the weight set has more. q > 1: no lambda has more at this gamma, no gamma less here."""
    S = np.array([4.0, 9.0, 1.0, 2.0, 16.0, 3.0])
    regularizer = GroupedNorm(GROUPS, q)
    b, value = regularizer.lmo(S), regularizer.conjugate(np.sqrt(S))
    gamma, split = 1 / sums_of(b), b / sums_of(b)[GROUP_OF]
    if q <= 1:
        for point in np.random.default_rng(0).uniform(0, 1, size=(200, 6)) ** 5:
            assert 0.5 * regularizer.project(point) @ S <= value * (1 + 1e-9)
        return
    for other in shares(2):
        assert 0.5 * (other / gamma[GROUP_OF]) @ S <= value * (1 + 1e-9)
    for other in gammas(q, 3):
        assert 0.5 * (split / other[GROUP_OF]) @ S >= value * (1 - 1e-9)


@pytest.mark.parametrize("q", FULL)
def test_projection_scales_to_the_weight_set_and_changes_nothing_there(q):
    regularizer = GroupedNorm(GROUPS, q)
    point = np.array([0.3, 2.0, 0.1, 0.6, 0.0, 0.4])
    b = regularizer.project(point)
    sums = sums_of(b)
    if q < 1:
        assert weight_set_norm(b, q) == pytest.approx(1.0)
    else:
        e = np.inf if q == 1 else (1.0 if np.isinf(q) else q / (q - 1))
        assert np.linalg.norm(1 / sums, ord=e) == pytest.approx(1.0)
    np.testing.assert_allclose(b / sums[GROUP_OF], point / sums_of(point)[GROUP_OF])
    if q != 1:  # between the groups too
        np.testing.assert_allclose(sums / sums[0], sums_of(point) / sums_of(point)[0])
    np.testing.assert_allclose(regularizer.project(b), b, rtol=1e-12)


def test_a_group_without_weight_gets_some_where_its_gamma_would_be_infinite():
    point = np.array([0.3, 2.0, 0.0, 0.6, 0.0, 0.0])
    assert GroupedNorm(GROUPS, 2.0).project(point)[GROUP_OF == 2].min() > 0
    assert not GroupedNorm(GROUPS, 0.75).project(point)[GROUP_OF == 2].any()


@pytest.mark.parametrize("q", FULL)
def test_start_is_even(q):
    b = GroupedNorm(GROUPS, q).start(6)
    assert np.ptp(sums_of(b)) < 1e-12 and b[0] == b[3] and b[2] == b[4] == b[5]
    np.testing.assert_allclose(GroupedNorm(GROUPS, q).project(b), b)


# ---- what it is in special cases ----


@given(norms)
def test_half_is_the_simplex(t):
    groups, simplex = GroupedNorm(GROUPS, 0.5), Simplex()
    assert groups.value(t) == pytest.approx(simplex.value(t))
    assert groups.conjugate(t) == pytest.approx(simplex.conjugate(t))


@given(norms)
def test_single_kernels_at_one_are_the_plain_sum(t):
    single, plain = GroupedNorm([[k] for k in range(6)], 1.0), LpBall(p=np.inf)
    assert single.value(t) == pytest.approx(plain.value(t))
    assert single.conjugate(t) == pytest.approx(plain.conjugate(t))


@pytest.mark.parametrize("q", [0.6, 0.75, 0.9])
def test_single_kernels_below_one_are_a_ball(q):
    """Omega = 1/2 |t|_{2q}^2, which is LpBall(q / (1 - q))."""
    t, single, ball = np.array([3.0, 1.0, 0.0, 0.2]), GroupedNorm([[0], [1], [2], [3]], q), LpBall(p=q / (1 - q))
    assert single.value(t) == pytest.approx(ball.value(t))
    np.testing.assert_allclose(single.weights(t), ball.weights(t))


# ---- groups as users write them ----

X = np.random.default_rng(0).normal(size=(10, 3))


def bank(names=("a", "b", "c")):
    return build_bank([RBF(gamma=1.0), RBF(gamma=2.0), RBF(gamma=4.0)], X, names=list(names))


@pytest.mark.parametrize(
    "groups",
    [
        {"first": ["a", "c"], "second": ["b"]},
        [["a", "c"], ["b"]],
        [["a", 2], [1]],
        [(0, 2), (1,)],
        ["first", "second", "first"],
        [7, 3, 7],
        np.array([1, 0, 1]),
        np.array(["x", "y", "x"]),
    ],
)
def test_forms_of_groups(groups):
    bound = as_regularizer(GroupedNorm(groups, 2.0)).bind(bank(), None)
    assert bound.group_of(3).tolist() == [0, 1, 0]
    assert bound.value([1, 2, 3]) == pytest.approx(0.5 * np.sqrt(4.0**4 + 2.0**4))


@pytest.mark.parametrize(("groups", "q"), [([["a", "b", "c"]], 2.0), ([["a", "c"], ["b"]], 0.5)])
def test_one_group_or_half_is_bound_to_the_simplex(groups, q):
    assert isinstance(GroupedNorm(groups, q).bind(bank(), None), Simplex)


def test_bind_leaves_the_original_alone_and_clones_forget():
    original = GroupedNorm({"one": ["a", "c"], "two": ["b"]}, 2.0)
    bound = original.bind(bank(), None)
    assert "_group_of" not in vars(original) and "_group_of" not in vars(clone(bound))
    assert pickle.loads(pickle.dumps(bound)).group_of(3).tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="bound to 3 kernels and got 4 numbers"):
        bound.value(np.ones(4))
    with pytest.raises(ValueError, match="by name only: call bind"):
        original.value(np.ones(3))


@pytest.mark.parametrize(
    ("groups", "error", "sentence"),
    [
        ("ab", TypeError, "groups of GroupedNorm is 'ab', expected a dict"),
        (3, TypeError, "groups of GroupedNorm is 3, expected a dict"),
        ((x for x in [[0], [1]]), TypeError, "expected a dict .* list of lists .* one label per kernel"),
        ([], ValueError, "groups of GroupedNorm is empty"),
        ({"one": ["a"], "two": []}, ValueError, "group 'two' of GroupedNorm is empty: name its kernels"),
        ({"one": "a"}, TypeError, "group 'one' of GroupedNorm is 'a', expected a list of kernels"),
        ([[0, 1], 2], TypeError, "group 1 of GroupedNorm is 2, expected a list"),
        ([["a", "x"], ["b", "c"]], ValueError, "holds 'x', and no kernel has that name: they are called 'a', 'b', 'c'"),
        ([["a"], ["b"]], ValueError, r"1 of 3 kernels are in no group of GroupedNorm \('c'\): put each"),
        ([["a", "b"], ["b", "c"]], ValueError, "kernel 'b' is in the groups 0 and 1 of GroupedNorm, expected every"),
        ([["a", 0], ["b", "c"]], ValueError, "kernel 0 is twice in group 0"),
        ([[0, 1], [2, 3]], ValueError, "holds the position 3, expected 0 to 2: there are 3 kernels"),
        ([[0, 1], [-1]], ValueError, "holds the position -1, expected 0 to 2"),
        ([[0, 1.5], [2]], TypeError, "holds 1.5, expected names or positions of kernels"),
        (["x", "y"], ValueError, "has 2 labels and there are 3 kernels, expected one label per kernel"),
    ],
)
def test_bad_groups(groups, error, sentence):
    with pytest.raises(error, match=sentence):
        as_regularizer(GroupedNorm(groups)).bind(bank(), None)


def test_a_name_that_is_nearly_right():
    with pytest.raises(ValueError, match="did you mean 'colour'"):
        GroupedNorm([["shape", "color"], ["size"]]).bind(bank(["shape", "colour", "size"]), None)


@pytest.mark.parametrize("q", [0.4, 0, -1.0, float("nan"), "2", None, True])
def test_bad_q(q):
    with pytest.raises(ValueError, match=r"q of GroupedNorm is .*, expected a number from 1/2 \(few groups\) to inf"):
        as_regularizer(GroupedNorm([[0], [1]], q))
