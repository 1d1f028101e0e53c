"""Every loss against its definition, numerical derivatives and a brute-force conjugate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.mkl_cases import LOSSES
from polykern.losses import EpsilonInsensitive, Hinge, Loss, OneClass, SmoothHinge, as_loss

outputs = st.floats(-8, 8)
names = st.sampled_from(sorted(LOSSES))


def target_of(loss, number):
    return np.sign(number) or 1.0 if loss.targets == "signs" else (0.0 if loss.targets == "none" else number)


@given(names, outputs, st.floats(-3, 3))
def test_derivative_is_the_slope(name, f, number):
    loss, h = LOSSES[name], 1e-6
    y = target_of(loss, number)
    left, right = (float(loss.value(f + s * h, y) - loss.value(f, y)) / (s * h) for s in (-1, 1))
    assert left - 1e-5 <= float(loss.derivative(f, y)) <= right + 1e-5


@given(names, outputs, st.floats(-3, 3))
def test_second_derivative_of_smooth_losses(name, f, number):
    loss, h = LOSSES[name], 1e-5
    y = target_of(loss, number)
    if not loss.smooth:
        with pytest.raises(NotImplementedError, match="second derivative"):
            loss.second_derivative(f, y)
        return
    near_a_jump = name == "squared_hinge" and abs(y * f - 1) < 2 * h
    slope = (float(loss.derivative(f + h, y)) - float(loss.derivative(f - h, y))) / (2 * h)
    assert near_a_jump or float(loss.second_derivative(f, y)) == pytest.approx(slope, abs=1e-4)


@given(names, outputs, outputs, st.floats(-3, 3))
def test_fenchel_young(name, f, at, number):
    """loss(f) + conjugate(u) >= u f for every slope u, with equality at the f where u is the slope."""
    loss = LOSSES[name]
    y = target_of(loss, number)
    u = float(loss.derivative(at, y))
    conjugate = float(loss.conjugate(u, y))
    assert float(loss.value(f, y)) + conjugate >= u * f - 1e-9
    assert float(loss.value(at, y)) + conjugate == pytest.approx(u * at, abs=1e-8)


@given(names, st.floats(0.02, 0.98), st.floats(-3, 3))
def test_conjugate_slope_and_curvature(name, share, number):
    """Against differences of the conjugate, inside its domain and away from the kink at 0."""
    loss, h = LOSSES[name], 1e-4
    y = target_of(loss, number)
    u = -share * (y if loss.targets == "signs" else 1.0)
    before, here, after = (float(loss.conjugate(v, y)) for v in (u - h, u, u + h))
    kink = 0.0 if loss.smooth else loss.linear_form(y)[1]
    slope, curvature = float(loss.conjugate_slope(u, y)), float(loss.conjugate_curvature(u, y))
    assert slope + kink * np.sign(u) == pytest.approx((after - before) / (2 * h), rel=1e-3, abs=1e-6)
    assert curvature == pytest.approx((after - 2 * here + before) / h**2, rel=2e-2, abs=1e-4)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_conjugate_is_the_supremum(name):
    """Against a fine grid of outputs, for slopes inside the domain; infinite for slopes the loss never has."""
    loss, y = LOSSES[name], 1.0 if LOSSES[name].targets != "none" else 0.0
    grid = np.linspace(-60, 60, 600_001)
    for u in (-0.9, -0.5, -0.1):
        supremum = np.max(u * grid - loss.value(grid, y))
        assert float(loss.conjugate(u, y)) == pytest.approx(supremum, abs=1e-6)
    if name not in ("squared", "epsilon_insensitive"):
        assert np.isinf(loss.conjugate(0.5, y))
    if name not in ("squared", "squared_hinge"):
        assert np.isinf(loss.conjugate(-1.5, y))


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_dual_bounds_are_the_range_of_slopes(name):
    loss, cost = LOSSES[name], 3.0
    y = -1.0 if loss.targets != "none" else 0.0
    lower, upper = loss.dual_bounds(np.array([y]), np.array([cost]))
    reached = -cost * loss.derivative(np.linspace(-1e3, 1e3, 10_001), y)
    assert lower[0] - 1e-9 <= reached.min() and reached.max() <= upper[0] + 1e-9
    if np.isfinite([lower[0], upper[0]]).all():
        assert reached.min() == pytest.approx(lower[0], abs=1e-6)
        assert reached.max() == pytest.approx(upper[0], abs=1e-6)
    elif name == "squared_hinge":
        assert (lower[0], upper[0]) == (-np.inf, 0.0)
    assert np.all(np.abs(loss.dual_bounds(np.array([y]), np.array([0.0]))) == 0)


@pytest.mark.parametrize("name", ["hinge", "epsilon_insensitive", "one_class"])
@given(st.floats(-1, 1), st.floats(-3, 3))
def test_linear_form_is_the_conjugate_inside_the_bounds(name, share, number):
    loss, cost = LOSSES[name], 2.5
    y = np.array([target_of(loss, number)])
    lower, upper = loss.dual_bounds(y, np.array([cost]))
    a = np.clip(share * cost, lower, upper)
    linear, kink = loss.linear_form(y)
    assert cost * loss.conjugate(-a / cost, y) == pytest.approx(-linear * a + kink * np.abs(a), abs=1e-9)


@pytest.mark.parametrize("name", ["hinge", "epsilon_insensitive", "one_class"])
def test_kinks_are_where_the_slope_rises_by_one(name):
    loss = LOSSES[name]
    y = np.array([1.0, -1.0]) if loss.targets == "signs" else np.array([0.3, -2.0])
    for place in loss.kinks(y):
        rise = loss.derivative(place + 1e-9, y) - loss.derivative(place - 1e-9, y)
        np.testing.assert_allclose(rise, 1.0)


def test_smooth_hinge_approaches_the_hinge():
    f = np.linspace(-2, 3, 101)
    np.testing.assert_allclose(SmoothHinge(sigma=1e4).value(f, 1.0), Hinge().value(f, 1.0), atol=1e-4)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("hinje", "Did you mean 'hinge'"),
        (SmoothHinge(sigma=0.0), "sigma of SmoothHinge is 0.0, expected a positive number"),
        (EpsilonInsensitive(epsilon=-1), "epsilon is -1, expected a number >= 0"),
        (OneClass(nu=0.0), r"nu is 0.0, expected the share of outliers, a number in \(0, 1\]"),
    ],
)
def test_bad_losses_are_refused_with_a_way_out(spec, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_loss(spec)


def test_as_loss_accepts_objects_and_refuses_others():
    assert as_loss(Hinge()) is not None
    assert as_loss("epsilon_insensitive", epsilon=0.7).epsilon == 0.7
    with pytest.raises(TypeError, match="expected one of 'hinge'"):
        as_loss(3)


def test_a_loss_of_a_third_party_needs_only_the_five_functions():
    class Absolute(Loss):
        targets = "real"

        def value(self, outputs, targets):
            return np.abs(outputs - targets)

    assert as_loss(Absolute()).value(1.0, 3.0) == 2.0
