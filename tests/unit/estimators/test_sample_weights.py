"""A weight of 2 is the sample twice, a weight of 0 is no sample; class_weight is a weight too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polykern import MKLClassifier, MKLOneClass, MKLRegressor, kernels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
LABELS = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * RNG.normal(size=40) > 0.4, "yes", "no")
VALUES = X[:, 0] - X[:, 1] ** 2
REPEATS = RNG.integers(0, 4, 40)
NEW = RNG.normal(size=(10, 3))

# Widths are given as numbers: what a kernel reads off the samples does not see their weights.
KERNELS = [("narrow", kernels.RBF(gamma=1.0)), ("wide", kernels.RBF(gamma=0.1)), ("line", kernels.Linear())]
COMMON: dict[str, Any] = {"normalize": None, "tol": 1e-8}
MODELS = {
    "classifier": (MKLClassifier(KERNELS, **COMMON), LABELS),
    "logistic": (MKLClassifier(KERNELS, loss="logistic", regularizer=1.5, **COMMON), LABELS),
    "balanced": (MKLClassifier(KERNELS, class_weight="balanced", **COMMON), LABELS),
    "regressor": (MKLRegressor(KERNELS, **COMMON), VALUES),
    "squared": (MKLRegressor(KERNELS, loss="squared", regularizer="l2", **COMMON), VALUES),
    "one class": (MKLOneClass(KERNELS, nu=0.3, regularizer="l2", **COMMON), None),
}


def outputs(model: Any, samples: np.ndarray) -> np.ndarray:
    return model.decision_function(samples) if hasattr(model, "decision_function") else model.predict(samples)


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_repetitions_on_vectors(name: str) -> None:
    model, y = MODELS[name]
    twice = None if y is None else np.repeat(y, REPEATS)
    weighted = model.fit(X, y, sample_weight=REPEATS)
    here, weights = outputs(weighted, NEW), weighted.weights_
    repeated = model.fit(np.repeat(X, REPEATS, axis=0), twice)
    assert np.allclose(weights, repeated.weights_, atol=2e-3)
    assert np.allclose(here, outputs(repeated, NEW), atol=2e-3 * max(1.0, np.abs(here).max()))


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_repetitions_on_precomputed_kernels(name: str) -> None:
    model, y = MODELS[name]
    everything = np.vstack([X, NEW])
    given = [(label, kernels.Precomputed(kernel.gram(everything))) for label, kernel in KERNELS]
    model = type(model)(**{**model.get_params(deep=False), "kernels": given})
    indices, new = np.arange(40), np.arange(40, 50)
    here = outputs(model.fit(indices, y, sample_weight=REPEATS), new)
    there = outputs(model.fit(np.repeat(indices, REPEATS), None if y is None else np.repeat(y, REPEATS)), new)
    assert np.allclose(here, there, atol=2e-3 * max(1.0, np.abs(here).max()))


def test_the_weights_matter() -> None:
    model, y = MODELS["classifier"]
    plain = model.fit(X, y).decision_function(NEW)
    assert not np.allclose(plain, model.fit(X, y, sample_weight=REPEATS).decision_function(NEW), atol=1e-2)


def test_samples_of_weight_zero_leave_no_trace() -> None:
    weights = np.where(np.arange(40) < 30, 1.0, 0.0)
    model = MKLClassifier("default")
    here = model.fit(X, LABELS, sample_weight=weights).decision_function(NEW)
    assert model.support_.max() < 30
    assert np.array_equal(here, model.fit(X[:30], LABELS[:30]).decision_function(NEW))


def test_positions_of_support_vectors_are_those_in_the_users_data() -> None:
    weights = np.where(np.arange(40) >= 10, 1.0, 0.0)
    model = MKLClassifier(KERNELS).fit(X, LABELS, sample_weight=weights)
    without = MKLClassifier(KERNELS).fit(X[10:], LABELS[10:])
    assert np.array_equal(model.support_, without.support_ + 10)


def test_class_weight_is_a_sample_weight() -> None:
    by_class = MKLClassifier(KERNELS, tol=1e-6, class_weight={"yes": 3.0}).fit(X, LABELS)
    by_sample = MKLClassifier(KERNELS, tol=1e-6).fit(X, LABELS, sample_weight=np.where(LABELS == "yes", 3.0, 1.0))
    assert np.array_equal(by_class.decision_function(NEW), by_sample.decision_function(NEW))


def test_class_weight_multiplies_c() -> None:
    # With both classes at 5, C is 5 times as large.
    both = MKLClassifier(KERNELS, class_weight={"yes": 5.0, "no": 5.0}).fit(X, LABELS)
    assert np.array_equal(
        both.decision_function(NEW), MKLClassifier(KERNELS, C=5.0).fit(X, LABELS).decision_function(NEW)
    )


def test_one_class_left_by_the_weights_is_an_error() -> None:
    with pytest.raises(ValueError, match="only one class, 'yes'"):
        MKLClassifier().fit(X, LABELS, sample_weight=(LABELS == "yes").astype(float))
