"""make_views: what is known about the views is true of the data."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np
import pytest

from polykern.datasets import make_views


def error_of_best_rule(strength: float, noise: float) -> float:
    return 0.5 * erfc(strength / noise / sqrt(2.0))


def test_shapes_names_and_balance():
    views = make_views(101, (1.0, 0.0, 0.5), features=4, random_state=0)
    assert views.data.shape == (101, 12)
    assert views.views == {"signal 0": slice(0, 4), "noise 1": slice(4, 8), "signal 2": slice(8, 12)}
    assert views.kernel_columns == list(views.views.items())
    assert sorted(np.unique(views.target)) == [-1, 1] and abs(views.target.sum()) == 1


def test_strengths_are_shares():
    np.testing.assert_allclose(make_views(10, (3.0, 1.0, 0.0), random_state=0).strengths, [0.75, 0.25, 0.0])


@pytest.mark.parametrize(("strength", "noise"), [(1.0, 1.0), (0.5, 1.0), (1.0, 2.0)])
def test_best_rule_of_one_view_errs_as_the_formula_says(strength, noise):
    views = make_views(40_000, (strength, 0.0), noise=noise, random_state=1)
    guess = np.sign(views.data[:, views.views["signal 0"]] @ views.directions[0])
    assert np.mean(guess != views.target) == pytest.approx(error_of_best_rule(strength, noise), abs=0.01)


def test_all_views_together_are_as_good_as_their_strengths_squared_and_summed():
    informative = np.array([0.6, 0.0, 0.8])
    views = make_views(40_000, informative, random_state=2)
    guess = np.sign(views.data @ (informative[:, None] * views.directions).ravel())
    assert np.mean(guess != views.target) == pytest.approx(error_of_best_rule(1.0, 1.0), abs=0.01)


def test_noise_view_tells_nothing():
    views = make_views(40_000, (1.0, 0.0), random_state=3)
    correlation = views.data[:, views.views["noise 1"]].T @ views.target / 40_000
    assert np.abs(correlation).max() < 0.025


def test_without_noise_the_views_are_the_signal():
    views = make_views(20, (2.0,), noise=0.0, random_state=4)
    np.testing.assert_allclose(views.data, 2.0 * views.target[:, None] * views.directions[0])


def test_same_seed_same_data():
    np.testing.assert_array_equal(make_views(random_state=5).data, make_views(random_state=5).data)
    assert not np.array_equal(make_views(random_state=5).data, make_views(random_state=6).data)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_samples": 1}, "n_samples is 1, expected a whole number of at least 2"),
        ({"n_samples": 10.5}, "n_samples is 10.5, expected a whole number"),
        ({"features": 0}, "features is 0, expected a whole number of at least 1"),
        ({"noise": -1.0}, "noise is -1.0, expected a finite number of at least 0"),
        ({"noise": float("nan")}, "noise is nan, expected a finite number"),
        ({"informative": (1.0, -0.5)}, r"informative\[1\] is -0.5, expected a finite number of at least 0"),
        ({"informative": (0.0, 0.0)}, "expected one strength per view, at least one of them above 0"),
        ({"informative": ()}, "expected one strength per view, at least one of them above 0"),
    ],
)
def test_bad_parameters_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_views(**arguments)
