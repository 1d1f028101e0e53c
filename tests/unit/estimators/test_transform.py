"""The combined kernel for other machines."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from polykern import MKLClassifier, MKLOneClass, MKLRegressor, kernels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.7).astype(int)
NEW = RNG.normal(size=(9, 3))
KERNELS = [("narrow", kernels.RBF(gamma=1.0)), ("wide", kernels.RBF(gamma=0.1)), ("line", kernels.Linear())]


def by_hand(model: MKLClassifier, left: np.ndarray) -> np.ndarray:
    """sum_k weights_k K_k, each kernel divided by the mean of its diagonal on the training samples."""
    total = np.zeros((len(left), len(X)))
    for (_, kernel), weight in zip(KERNELS, model.weights_, strict=True):
        total += weight * kernel.gram(left, X) / kernel.diag(X).mean()
    return total


@pytest.mark.parametrize("make", [MKLClassifier, MKLRegressor, MKLOneClass])
def test_it_is_the_weighted_sum_against_the_training_samples(make: type) -> None:
    model = make(KERNELS, keep_training_data=True, regularizer=1.5).fit(X, Y)
    assert model.transform(NEW).shape == (9, 60)
    assert np.allclose(model.transform(NEW), by_hand(model, NEW), atol=1e-5)


def test_fit_transform_is_square_and_symmetric() -> None:
    model = MKLClassifier(KERNELS, keep_training_data=True)
    square = model.fit_transform(X, Y)
    assert square.shape == (60, 60)
    assert np.allclose(square, square.T, atol=1e-6)
    assert np.allclose(square, by_hand(model, X), atol=1e-5)


def test_decision_values_follow_from_it() -> None:
    model = MKLClassifier(KERNELS, keep_training_data=True).fit(X, Y)
    by_kernel = model.transform(NEW)[:, model.support_] @ model.dual_coef_ + model.intercept_
    assert np.allclose(by_kernel, model.decision_function(NEW), atol=1e-5)


def test_another_machine_in_a_pipeline() -> None:
    pipeline = make_pipeline(MKLClassifier(KERNELS, keep_training_data=True), SVC(kernel="precomputed"))
    assert pipeline.fit(X, Y).score(X, Y) > 0.85
    assert pipeline.predict(NEW).shape == (9,)


def test_keeping_the_data_changes_nothing_else() -> None:
    kept, small = (MKLClassifier(KERNELS, keep_training_data=keep).fit(X, Y) for keep in (True, False))
    assert np.allclose(kept.decision_function(NEW), small.decision_function(NEW), rtol=1e-10)


def test_precomputed_kernels() -> None:
    everything = np.vstack([X, NEW])
    given = [(name, kernels.Precomputed(kernel.gram(everything))) for name, kernel in KERNELS]
    model = MKLClassifier(given, keep_training_data=True).fit(np.arange(60), Y)
    assert np.allclose(model.transform(np.arange(60, 69)), by_hand(model, NEW), atol=1e-5)


def test_asked_for_after_fit() -> None:
    model = MKLClassifier(KERNELS).fit(X, Y).set_params(keep_training_data=True)
    with pytest.raises(ValueError, match="fit again now that keep_training_data is True"):
        model.transform(NEW)


def test_weights_per_class_have_no_single_kernel() -> None:
    three = np.arange(60) % 3
    model = MKLClassifier(KERNELS, keep_training_data=True, share_weights=False).fit(X, three)
    with pytest.raises(ValueError, match="one combined kernel, and this model has one per class; .*share_weights=True"):
        model.transform(NEW)
