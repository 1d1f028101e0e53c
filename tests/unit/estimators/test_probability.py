"""predict_proba: native for the logistic loss, Platt's sigmoid otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss

from polykern import MKLClassifier, kernels, losses
from polykern.estimators._probability import stratified_folds

RNG = np.random.default_rng(0)
KERNELS = [("wide", kernels.RBF(gamma=0.3)), ("line", kernels.Linear())]
IRIS, SPECIES = load_iris(return_X_y=True)


def noisy(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples, labels, and the true probability of the second class."""
    X = rng.normal(size=(n, 2))
    truth = expit(2 * X[:, 0] - X[:, 1])
    return X, (rng.random(n) < truth).astype(int), truth


def test_the_logistic_loss_gives_the_sigmoid_of_its_decision_values() -> None:
    X, y, _ = noisy(80, RNG)
    for loss in ("logistic", losses.Logistic()):
        model = MKLClassifier(KERNELS, loss=loss).fit(X, y)
        positive = expit(model.decision_function(X))
        assert np.allclose(model.predict_proba(X), np.column_stack([1 - positive, positive]))


@pytest.mark.parametrize(
    "settings", [{"loss": "logistic"}, {"probability": True}, {"probability": True, "loss": "squared_hinge"}]
)
@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
@pytest.mark.parametrize("share_weights", [True, False])
def test_probabilities_of_more_classes(settings: dict, multiclass: str, share_weights: bool) -> None:
    model = MKLClassifier(KERNELS, multiclass=multiclass, share_weights=share_weights, random_state=0, **settings)
    probabilities = model.fit(IRIS[::2], SPECIES[::2]).predict_proba(IRIS)
    assert probabilities.shape == (150, 3)
    assert probabilities.min() >= 0
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert np.mean(probabilities.argmax(axis=1) == SPECIES) > 0.9
    assert np.allclose(model.predict_log_proba(IRIS), np.log(probabilities))


def test_platts_probabilities_are_near_the_truth() -> None:
    X, y, _ = noisy(400, np.random.default_rng(1))
    new, outcome, truth = noisy(2000, np.random.default_rng(2))
    model = MKLClassifier(KERNELS, probability=True, random_state=0).fit(X, y)
    probability = model.predict_proba(new)[:, 1]
    assert np.mean(np.abs(probability - truth)) < 0.08
    assert log_loss(outcome, probability) < log_loss(outcome, truth) + 0.05


def test_the_decision_values_behind_the_sigmoid_come_from_other_folds() -> None:
    # Labels without any relation to X, and a machine that knows its training samples by heart: its own decision values would
    # give probabilities near 0 and 1, those of samples left out do not.
    X, y = RNG.normal(size=(100, 5)), RNG.integers(0, 2, 100)
    model = MKLClassifier([kernels.RBF(gamma=5.0)], C=100.0, probability=True, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.abs(model.predict_proba(RNG.normal(size=(50, 5)))[:, 1] - 0.5).max() < 0.25


def test_it_rises_with_the_decision_value() -> None:
    X, y, _ = noisy(100, RNG)
    model = MKLClassifier(KERNELS, probability=True, random_state=0).fit(X, y)
    order = np.argsort(model.decision_function(X))
    assert np.all(np.diff(model.predict_proba(X)[order, 1]) >= 0)


def test_the_seed_decides() -> None:
    X, y, _ = noisy(60, RNG)
    first, again, other = (
        MKLClassifier(KERNELS, probability=True, random_state=seed).fit(X, y).predict_proba(X) for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_probability_does_not_change_the_model() -> None:
    X, y, _ = noisy(60, RNG)
    plain, calibrated = (MKLClassifier(KERNELS, probability=p, random_state=0).fit(X, y) for p in (False, True))
    assert np.array_equal(plain.decision_function(X), calibrated.decision_function(X))


@pytest.mark.parametrize("sizes", [(50, 50), (90, 7), (3, 40, 11), (2, 30)])
def test_folds_spread_every_class_evenly(sizes: tuple) -> None:
    codes = RNG.permutation(np.repeat(np.arange(len(sizes)), sizes))
    folds = stratified_folds(codes, np.random.RandomState(0))
    assert len(folds) == min(5, *sizes)
    assert np.array_equal(np.sort(np.concatenate(folds)), np.arange(len(codes)))
    for c, size in enumerate(sizes):
        counts = [int(np.sum(codes[fold] == c)) for fold in folds]
        assert max(counts) - min(counts) <= 1
        assert sum(counts) == size
