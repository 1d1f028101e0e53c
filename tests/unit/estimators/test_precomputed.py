"""Precomputed kernels: X is sample indices; nothing copies the matrices."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from polykern import MKLClassifier, MKLOneClass, MKLRegressor, kernels, regularizers

RNG = np.random.default_rng(0)
N = 200
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0, "up", "down")
WIDE, LINE = kernels.RBF(gamma=0.3), kernels.Linear()
INDICES = np.arange(N)


def given(dtype: Any = np.float64) -> list:
    return [
        ("wide", kernels.Precomputed(WIDE.gram(X).astype(dtype))),
        ("line", kernels.Precomputed(LINE.gram(X).astype(dtype))),
    ]


@pytest.mark.parametrize("make", [MKLClassifier, MKLRegressor, MKLOneClass])
def test_the_same_model_as_from_vectors(make: Any) -> None:
    train, test = INDICES[:150], INDICES[150:]
    y = Y if make is MKLClassifier else X[:, 1]
    precomputed = make(given(), tol=1e-6).fit(train, y[:150])
    vectors = make([("wide", WIDE), ("line", LINE)], tol=1e-6).fit(X[:150], y[:150])
    output = "predict" if make is MKLRegressor else "decision_function"
    assert np.allclose(precomputed.weights_, vectors.weights_, atol=1e-4)
    assert np.allclose(getattr(precomputed, output)(test), getattr(vectors, output)(X[150:]), atol=1e-3)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_indices_in_either_shape(shape: tuple) -> None:
    model = MKLClassifier(given()).fit(INDICES.reshape(shape), Y)
    assert model.n_features_in_ == 1
    assert model.predict(INDICES[:7].reshape(shape)).shape == (7,)
    assert model.predict(INDICES[:7].tolist()).shape == (7,)


def test_indices_in_any_order_and_repeated() -> None:
    order = RNG.permutation(N)
    model = MKLClassifier(given(), tol=1e-6).fit(order, Y[order])
    expected = MKLClassifier(given(), tol=1e-6).fit(INDICES, Y)
    assert np.allclose(model.decision_function(INDICES), expected.decision_function(INDICES), atol=1e-3)
    assert np.array_equal(model.predict([3, 3, 5])[[0, 1]], model.predict([3, 3]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_matrices_are_used_as_they_are(dtype: Any) -> None:
    spec = given(dtype)
    model = MKLClassifier(spec).fit(INDICES, Y)
    assert model.score(INDICES, Y) > 0.8
    assert all(kernel.K.dtype == dtype for _, kernel in spec)


def test_indices_beside_vectors_in_a_table() -> None:
    table = np.column_stack([INDICES, X])
    model = MKLClassifier([("wide", given()[0][1], [0]), ("line", LINE, slice(1, 4))], tol=1e-6).fit(
        table[:150], Y[:150]
    )
    expected = MKLClassifier(given(), tol=1e-6).fit(INDICES[:150], Y[:150])
    assert np.allclose(model.decision_function(table), expected.decision_function(INDICES), atol=1e-3)


def test_tags_announce_indices() -> None:
    assert MKLClassifier(given()).__sklearn_tags__().input_tags.one_d_array
    assert not MKLClassifier(given()).__sklearn_tags__().input_tags.two_d_array
    assert MKLClassifier().__sklearn_tags__().input_tags.two_d_array


def test_cross_validation_and_grid_search_on_indices() -> None:
    scores = cross_val_score(MKLClassifier(given()), INDICES, Y, cv=3)
    assert scores.min() > 0.7
    search = GridSearchCV(
        MKLClassifier(given(), regularizer=regularizers.LpBall(p=2)),
        {"regularizer__p": [1.0, 2.0], "C": [0.1, 1]},
        cv=2,
    )
    assert search.fit(INDICES, Y).best_score_ > 0.7


def test_a_clone_shares_the_matrices() -> None:
    model = MKLClassifier(given())
    for (_, kernel), (_, other) in zip(model.kernels, clone(model).kernels, strict=True):
        assert kernel is not other
        assert np.shares_memory(kernel.K, other.K)


def test_folds_in_one_process_do_not_copy_the_matrices() -> None:
    n, n_kernels = 800, 8
    rng = np.random.default_rng(1)
    data = rng.normal(size=(n, 5))
    y = (data[:, 0] > 0).astype(int)
    spec = [(f"k{k}", kernels.Precomputed(kernels.RBF(gamma=0.05 * 2**k).gram(data))) for k in range(n_kernels)]
    one_matrix = 8 * n * n
    model = MKLClassifier(spec, regularizer="linf", n_jobs=1)
    model.fit(np.arange(40), y[:40])  # compiles and imports, whose memory is not what is looked at
    tracemalloc.start()
    cross_val_score(model, np.arange(n), y, cv=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The combined kernel of a fold is 0.44 of a matrix; a copy of the kernels of one fold would be 8 times that.
    assert peak < 1.5 * one_matrix


def matrices_are_mapped(model: MKLClassifier, X: np.ndarray, y: np.ndarray) -> float:
    """A scorer that looks at the fitted model in the worker process: does it read the files that all workers share?"""
    kept = model._support_reference._matrices.values()
    return float(all(is_mapped(kernel.K) for _, kernel in model.kernels) and all(is_mapped(one.matrix) for one in kept))


def is_mapped(array: Any) -> bool:
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False


def test_folds_in_parallel_processes_map_the_matrices() -> None:
    # Every matrix is 2.9 MB, above the 1 MB from which joblib passes arrays on as mapped files.
    n = 600
    data = np.random.default_rng(2).normal(size=(n, 5))
    y = (data[:, 0] > 0).astype(int)
    spec = [(f"k{k}", kernels.Precomputed(kernels.RBF(gamma=0.1 * 2**k).gram(data))) for k in range(2)]
    scores = cross_val_score(MKLClassifier(spec), np.arange(n), y, cv=4, n_jobs=2, scoring=matrices_are_mapped)
    assert scores.tolist() == [1.0] * 4
