"""predict_proba: native for the logistic loss, Platt's sigmoid otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from polykern import MKLClassifier, kernels, losses
from polykern.estimators._calibration import fit_sigmoid
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


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sigmoid_is_learned_on_samples_left_out(weighted: bool) -> None:
    # With one kernel there are no weights to learn: scikit-learn's SVC on each fold is the oracle.
    X, y, _ = noisy(100, np.random.default_rng(3))
    weights = np.random.default_rng(4).uniform(0.2, 2.0, 100) if weighted else np.ones(100)
    left_out = np.empty(100)
    for test in stratified_folds(y, np.random.RandomState(0)):
        train = np.setdiff1d(np.arange(100), test)
        svc = SVC(C=5.0, gamma=0.3, tol=1e-6).fit(X[train], y[train], sample_weight=weights[train])
        left_out[test] = svc.decision_function(X[test])
    expected = fit_sigmoid(left_out, y == 1, weights)
    settings = {"C": 5.0, "normalize": None, "tol": 1e-6, "probability": True, "random_state": 0}
    model = MKLClassifier([kernels.RBF(gamma=0.3)], **settings).fit(X, y, sample_weight=weights)
    assert np.allclose(model.predict_proba(X)[:, 1], expected(model.decision_function(X)), atol=1e-3)


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
