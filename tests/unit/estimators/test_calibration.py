"""Platt's sigmoid against a general-purpose minimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from polykern.estimators._calibration import fit_sigmoid


def slow_sigmoid(decision: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Minimise the weighted cross-entropy against Platt's targets, written out."""
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    high, low = (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2)

    def objective(point: np.ndarray) -> float:
        total = 0.0
        for f, is_positive, w in zip(decision, positive, weight, strict=True):
            z, t = point[0] * f + point[1], high if is_positive else low
            total += w * (np.logaddexp(0, z) - t * z)
        return total

    found = minimize(objective, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9})
    return tuple(found.x)


def noisy(seed: int, n: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    decision = rng.normal(size=n)
    return decision, rng.random(n) < expit(2 * decision - 0.5), rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_is_found(seed: int) -> None:
    decision, positive, weight = noisy(seed)
    sigmoid = fit_sigmoid(decision, positive, weight)
    assert np.allclose([sigmoid.slope, sigmoid.intercept], slow_sigmoid(decision, positive, weight), atol=1e-4)


@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_the_size_of_the_decision_values_does_not_matter(size: float) -> None:
    decision, positive, weight = noisy(0)
    one, other = fit_sigmoid(decision, positive, weight), fit_sigmoid(size * decision, positive, weight)
    assert np.allclose(one(decision), other(size * decision), rtol=1e-6)


def test_a_weight_is_a_repetition_up_to_the_targets_of_platt() -> None:
    decision, positive, _ = noisy(1)
    repeats = np.random.default_rng(2).integers(1, 4, len(decision))
    weighted = fit_sigmoid(decision, positive, repeats.astype(float))
    repeated = fit_sigmoid(np.repeat(decision, repeats), np.repeat(positive, repeats), np.ones(repeats.sum()))
    assert np.allclose(weighted, repeated, rtol=1e-6)


def test_perfect_separation_stays_finite_and_rises() -> None:
    decision = np.linspace(-2, 2, 20)
    sigmoid = fit_sigmoid(decision, decision > 0, np.ones(20))
    probability = sigmoid(decision)
    assert np.all(np.isfinite(probability))
    assert np.all(np.diff(probability) > 0)
    assert probability[-1] < 1.0


def test_constant_decision_values_give_the_share_of_positives() -> None:
    positive = np.arange(40) < 10
    probability = fit_sigmoid(np.zeros(40), positive, np.ones(40))(np.zeros(3))
    assert np.allclose(probability, np.where(positive, 11 / 12, 1 / 32).mean(), atol=1e-6)
