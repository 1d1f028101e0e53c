"""A fitted model holds only what prediction needs, and survives a pickle."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from polykern import MKLClassifier, MKLOneClass, MKLRegressor, kernels

RNG = np.random.default_rng(0)
KERNELS = [("narrow", kernels.RBF(gamma=1.0)), ("wide", kernels.RBF(gamma=0.1)), ("some", kernels.Linear(), [0, 2])]


def data(n: int, d: int = 20) -> tuple[np.ndarray, np.ndarray]:
    X = RNG.normal(size=(n, d))
    return X, (X[:, 0] + 0.1 * RNG.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier(KERNELS),
        MKLClassifier(KERNELS, probability=True, keep_training_data=True),
        MKLRegressor(KERNELS),
        MKLOneClass(KERNELS),
    ],
)
def test_a_pickle_predicts_the_same(model: Any) -> None:
    X, y = data(60)
    model.fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert copy.kernel_weights_ == model.kernel_weights_
    assert copy.result_.status is model.result_.status
    assert copy.summary() == model.summary()
    if getattr(model, "keep_training_data", False):
        assert np.array_equal(copy.transform(X[:5]), model.transform(X[:5]))
        assert np.array_equal(copy.predict_proba(X[:5]), model.predict_proba(X[:5]))


def test_the_size_follows_the_support_vectors_not_the_training_set() -> None:
    X, y = data(1500)
    model = MKLClassifier([kernels.Linear(), kernels.RBF(gamma=0.01)], C=10.0).fit(X, y)
    n_support = len(model.support_)
    assert n_support < 500
    # Support vectors, their coefficients, and two numbers per training sample in result_: nothing as n * d or n * n.
    assert len(pickle.dumps(model)) < 8 * (n_support * (20 + 4) + 3 * 1500) + 20_000


def test_keep_training_data_keeps_all_samples() -> None:
    X, y = data(500)
    small, large = (
        len(pickle.dumps(MKLClassifier([kernels.Linear()], C=10.0, keep_training_data=keep).fit(X, y)))
        for keep in (False, True)
    )
    assert large > small + 0.9 * X.nbytes


def precomputed_model(n: int) -> tuple[MKLClassifier, np.ndarray]:
    X, _ = data(n, 5)
    K = kernels.RBF(gamma=0.05).gram(X)
    model = MKLClassifier([("a", kernels.Precomputed(K)), ("b", kernels.Precomputed(K**2))], C=100.0)
    return model.fit(np.arange(n), (X[:, 0] > 0).astype(int)), K


def test_a_pickle_never_holds_a_precomputed_matrix() -> None:
    model, K = precomputed_model(500)
    n_support = len(model.support_)
    assert n_support < 100
    # Per kernel the columns of the support vectors and the diagonal, for all 500 samples that one can predict for.
    assert len(pickle.dumps(model)) < 2 * 8 * 500 * (n_support + 2) + 8 * 10 * 500 + 20_000
    assert len(pickle.dumps(model)) < 0.5 * K.nbytes


def test_it_predicts_for_every_index_and_says_what_it_lacks() -> None:
    model, _ = precomputed_model(100)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.decision_function(np.arange(100)), model.decision_function(np.arange(100)))
    assert copy.__sklearn_tags__().input_tags.one_d_array
    with pytest.raises(
        ValueError, match=r"kernel 0 \('a'\).*leaves out precomputed matrices.*set_params\(kernels=\.\.\.\)"
    ):
        copy.fit(np.arange(100), np.arange(100) % 2)
    copy.set_params(kernels=model.kernels).fit(np.arange(100), np.arange(100) % 2)


def test_the_model_itself_keeps_its_matrices() -> None:
    model, K = precomputed_model(50)
    pickle.dumps(model)
    assert np.array_equal(model.kernels[0][1].K, K)
    model.fit(np.arange(50), np.arange(50) % 2)


def test_an_unfitted_model_takes_its_matrices_along() -> None:
    K = np.eye(30)
    copy = pickle.loads(pickle.dumps(MKLClassifier([kernels.Precomputed(K)])))
    assert np.array_equal(copy.kernels[0].K, K)
