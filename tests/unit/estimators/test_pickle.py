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
    # Support vectors, their coefficients, and two numbers per training sample in result_: nothing that grows as n * d or n * n.
    assert len(pickle.dumps(model)) < 8 * (n_support * (20 + 4) + 3 * 1500) + 20_000


def test_keep_training_data_keeps_all_samples() -> None:
    X, y = data(500)
    small, large = (
        len(pickle.dumps(MKLClassifier([kernels.Linear()], C=10.0, keep_training_data=keep).fit(X, y)))
        for keep in (False, True)
    )
    assert large > small + 0.9 * X.nbytes


def test_a_precomputed_kernel_is_pickled_once_with_its_parameter_and_never_again() -> None:
    # The matrix is the constructor's argument, so it is in the pickle as such; the fitted part adds no n x n array to it.
    n = 500
    X, y = data(n)
    K = kernels.RBF(gamma=0.05).gram(X)
    model = MKLClassifier([("a", kernels.Precomputed(K)), ("b", kernels.Precomputed(2 * K))])
    unfitted = len(pickle.dumps(model))
    fitted = len(pickle.dumps(model.fit(np.arange(n), y)))
    assert fitted - unfitted < 0.05 * K.nbytes
