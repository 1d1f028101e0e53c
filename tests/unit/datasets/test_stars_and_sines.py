"""The toys of the 2006 paper have the geometry that their formulas say."""

from __future__ import annotations

import numpy as np
import pytest

from polykern.datasets import make_sines, make_stars


def test_stars_lie_on_their_outlines_without_noise():
    stars = make_stars(500, 6.0, noise=0.0, points=5, depth=0.3, random_state=0)
    angle = np.arctan2(stars.data[:, 1], stars.data[:, 0])
    radius = np.where(stars.target > 0, 6.0, 4.0) * (1.0 + 0.3 * np.sin(5 * angle))
    np.testing.assert_allclose(np.linalg.norm(stars.data, axis=1), radius, rtol=1e-12)


def test_stars_are_balanced_and_noisy_as_asked():
    clean, noisy = (make_stars(4000, noise=noise, random_state=1) for noise in (0.0, 0.3))
    assert (clean.target == 1).sum() == 2000
    np.testing.assert_array_equal(clean.target, noisy.target)
    assert (noisy.data - clean.data).std() == pytest.approx(0.3, rel=0.05)


def test_stars_at_a_distance_are_separable_and_close_ones_are_not():
    def errors_of_nearest_neighbour(outer_radius: float) -> float:
        stars = make_stars(600, outer_radius, random_state=2)
        distance = np.linalg.norm(stars.data[:, None] - stars.data, axis=2)
        np.fill_diagonal(distance, np.inf)
        return np.mean(stars.target[distance.argmin(axis=1)] != stars.target)

    assert errors_of_nearest_neighbour(9.9) < 0.01
    assert errors_of_nearest_neighbour(4.1) > 0.3


def test_sines_are_the_sum_of_their_components():
    waves = make_sines(200, (1.0, 7.0), slope=0.5, random_state=0)
    x = waves.data[:, 0]
    np.testing.assert_allclose(waves.target, np.sin(x) + np.sin(7.0 * x) + 0.5 * x)
    np.testing.assert_allclose(waves.components, [np.sin(x), np.sin(7.0 * x), 0.5 * x])
    np.testing.assert_array_equal(waves.target, waves.clean)
    assert x.min() >= 0.0 and x.max() <= 2.0 * np.pi


def test_noise_of_sines_is_beside_the_clean_target():
    waves = make_sines(5000, (2.0,), noise=0.2, random_state=1)
    np.testing.assert_allclose(waves.clean, np.sin(2.0 * waves.data[:, 0]))
    assert (waves.target - waves.clean).std() == pytest.approx(0.2, rel=0.05)


def test_widths_are_those_of_the_paper():
    assert make_stars(2).widths == (0.01, 0.1, 1.0, 10.0, 100.0)
    assert make_sines(2).widths == (0.005, 0.05, 0.5, 1.0, 10.0)


@pytest.mark.parametrize("make", [make_stars, make_sines])
def test_same_seed_same_data(make):
    np.testing.assert_array_equal(make(50, random_state=3).data, make(50, random_state=3).data)
    assert not np.array_equal(make(50, random_state=3).data, make(50, random_state=4).data)


@pytest.mark.parametrize(
    ("make", "arguments", "sentence"),
    [
        (make_stars, {"outer_radius": 4.0}, "outer_radius is 4.0, expected a finite number above 4"),
        (make_stars, {"n_samples": 0}, "n_samples is 0, expected a whole number of at least 2"),
        (make_stars, {"points": 2.5}, "points is 2.5, expected a whole number of at least 1"),
        (make_stars, {"depth": -0.1}, "depth is -0.1, expected a finite number of at least 0"),
        (make_sines, {"frequencies": (1.0, 0.0)}, r"frequencies\[1\] is 0.0, expected a finite number above 0"),
        (make_sines, {"slope": float("inf")}, "slope is inf, expected a finite number"),
        (make_sines, {"noise": "much"}, "noise is 'much', expected a finite number of at least 0"),
    ],
)
def test_bad_parameters_are_refused(make, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(**arguments)
