"""Two classes and more: one-vs-rest and one-vs-one, weights shared or per class."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from polykern import MKLClassifier, kernels
from polykern.problems import Status

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
KERNELS = [("narrow", kernels.RBF(gamma=2.0)), ("wide", kernels.RBF(gamma=0.2)), ("line", kernels.Linear())]
TWO = SPECIES != 2
# Four classes: one-vs-one has six outputs, one-vs-rest four.
BLOBS = np.random.default_rng(0).normal(size=(80, 2)) + np.repeat([[0, 0], [4, 0], [0, 4], [4, 4]], 20, axis=0)
CORNERS = np.repeat(["sw", "se", "nw", "ne"], 20)


def test_two_classes_give_one_decision_value() -> None:
    model = MKLClassifier(KERNELS).fit(IRIS[TWO], NAMES[TWO])
    decision = model.decision_function(IRIS[TWO])
    assert decision.shape == (100,)
    assert np.array_equal(model.predict(IRIS[TWO]), model.classes_[(decision > 0).astype(int)])
    assert model.dual_coef_.shape == (len(model.support_),)
    assert isinstance(model.intercept_, float)
    assert model.weights_.shape == (3,)
    assert model.score(IRIS[TWO], NAMES[TWO]) == 1.0


@pytest.mark.parametrize("multiclass", ["auto", "ovr", "ovo"])
def test_with_two_classes_the_choice_makes_no_difference(multiclass: str) -> None:
    reference = MKLClassifier(KERNELS).fit(IRIS[TWO], SPECIES[TWO]).decision_function(IRIS)
    model = MKLClassifier(KERNELS, multiclass=multiclass, share_weights=False).fit(IRIS[TWO], SPECIES[TWO])
    assert np.array_equal(model.decision_function(IRIS), reference)


@pytest.mark.parametrize(("multiclass", "n_outputs"), [("auto", 4), ("ovr", 4), ("ovo", 6)])
@pytest.mark.parametrize("share_weights", [True, False])
def test_shapes_and_predictions(multiclass: str, n_outputs: int, share_weights: bool) -> None:
    model = MKLClassifier(KERNELS, multiclass=multiclass, share_weights=share_weights, C=10.0).fit(BLOBS, CORNERS)
    decision = model.decision_function(BLOBS)
    assert decision.shape == (80, 4)
    assert model.dual_coef_.shape == (n_outputs, len(model.support_))
    assert model.intercept_.shape == (n_outputs,)
    assert model.weights_.shape == ((3,) if share_weights else (n_outputs, 3))
    assert model.classes_.tolist() == ["ne", "nw", "se", "sw"]
    assert np.array_equal(model.predict(BLOBS), model.classes_[decision.argmax(axis=1)])
    assert model.score(BLOBS, CORNERS) > 0.9
    assert model.result_.status is Status.CONVERGED
    assert 0 <= model.result_.gap <= model.tol
    assert len(model.result_.parts) == (0 if share_weights else n_outputs)


def test_one_vs_rest_per_class_is_one_binary_model_per_class() -> None:
    model = MKLClassifier(KERNELS, multiclass="ovr", share_weights=False, tol=1e-6).fit(IRIS, SPECIES)
    for c in range(3):
        alone = MKLClassifier(KERNELS, tol=1e-6).fit(IRIS, (SPECIES == c).astype(int))
        assert np.allclose(model.weights_[c], alone.weights_, atol=1e-8)
        assert np.allclose(model.decision_function(IRIS)[:, c], alone.decision_function(IRIS), atol=1e-6)
    parts = model.result_.parts
    assert model.result_.primal == pytest.approx(sum(part.primal for part in parts))
    assert model.result_.n_machines == sum(part.n_machines for part in parts) >= 3


def test_one_vs_one_per_pair_is_one_binary_model_per_pair() -> None:
    # normalize=None: the normalization of a kernel is learned on all samples, and a model of two classes has fewer.
    settings = {"normalize": None, "tol": 1e-6}
    model = MKLClassifier(KERNELS, multiclass="ovo", share_weights=False, **settings).fit(IRIS, SPECIES)
    outputs = model._outputs(IRIS)
    for column, pair in enumerate([(0, 1), (0, 2), (1, 2)]):
        chosen = np.isin(SPECIES, pair)
        alone = MKLClassifier(KERNELS, **settings).fit(IRIS[chosen], SPECIES[chosen])
        assert np.allclose(model.weights_[column], alone.weights_, atol=1e-4)
        assert np.allclose(outputs[:, column], alone.decision_function(IRIS), atol=2e-3)


def test_shared_weights_of_one_kernel_change_nothing() -> None:
    one = [kernels.RBF(gamma=0.5)]
    for multiclass in ("ovr", "ovo"):
        shared, single = (
            MKLClassifier(one, multiclass=multiclass, share_weights=share, tol=1e-7).fit(IRIS, SPECIES)._outputs(IRIS)
            for share in (True, False)
        )
        assert np.allclose(shared, single, atol=1e-3)


def test_sharing_is_a_restriction() -> None:
    # The shared problem's optimum is the largest sum of norms for common weights: never below that of free weights.
    shared, free = (
        MKLClassifier(KERNELS, share_weights=share, tol=1e-6).fit(IRIS, SPECIES).result_.primal
        for share in (True, False)
    )
    assert shared >= free * (1 - 1e-5)


def test_settings_changed_after_fit_do_not_change_the_fitted_model() -> None:
    model = MKLClassifier(KERNELS, multiclass="ovo").fit(IRIS, SPECIES)
    before = model.decision_function(IRIS)
    assert np.array_equal(model.set_params(multiclass="ovr").decision_function(IRIS), before)


@pytest.mark.parametrize(
    "labels", [NAMES, NAMES.astype(object), SPECIES * 10 - 7, SPECIES == 1, (SPECIES + 0.0).tolist()]
)
def test_labels_of_any_kind(labels: object) -> None:
    model = MKLClassifier(KERNELS).fit(IRIS, labels)
    assert np.array_equal(model.classes_, np.unique(np.asarray(labels)))
    assert model.score(IRIS, labels) > 0.9
    assert set(model.predict(IRIS).tolist()) <= set(np.asarray(labels).tolist())


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_a_common_time_limit(multiclass: str) -> None:
    model = MKLClassifier(KERNELS, multiclass=multiclass, share_weights=False, time_limit=1e-6, tol=1e-9)
    with pytest.warns(UserWarning, match="time_limit"):
        model.fit(IRIS, SPECIES)
    assert model.result_.status is Status.TIME_LIMIT
    assert model.decision_function(IRIS).shape == (150, 3)
