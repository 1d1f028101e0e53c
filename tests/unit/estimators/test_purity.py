"""fit changes nothing but the model: no argument, no default, no input array."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from polykern import MKLClassifier, MKLOneClass, MKLRegressor, kernels, losses, regularizers, solvers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)
WEIGHTS = RNG.uniform(0, 2, 40)


def models() -> list[Any]:
    objects = {
        "kernels": [
            ("a", kernels.RBF(gamma="scale"), [0, 1]),
            ("b", kernels.Sum([kernels.Linear(), kernels.Polynomial(2)])),
        ],
        "regularizer": regularizers.LpBall(p=1.5),
        "solver": solvers.LpAnalytic(),
        "callbacks": [],
    }
    return [
        MKLClassifier(),
        MKLClassifier(**objects, loss=losses.Hinge(), class_weight={1: 2.0}, probability=True, random_state=0),
        MKLRegressor(**objects, loss=losses.EpsilonInsensitive(epsilon=0.2)),
        MKLOneClass(**objects),
    ]


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_arguments_stay_as_they_were(model: Any) -> None:
    before, identity = joblib.hash(model.get_params()), {name: id(value) for name, value in vars(model).items()}
    model.fit(X, Y, sample_weight=WEIGHTS)
    model.predict(X)
    assert joblib.hash(model.get_params()) == before
    assert {name: id(vars(model)[name]) for name in identity} == identity


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_inputs_stay_as_they_were(model: Any) -> None:
    inputs = [X.copy(), Y.copy(), WEIGHTS.copy()]
    before = joblib.hash(inputs)
    model.fit(inputs[0], inputs[1], sample_weight=inputs[2])
    model.predict(inputs[0])
    assert joblib.hash(inputs) == before


def test_read_only_inputs_are_enough() -> None:
    inputs = [X.copy(), Y.copy(), WEIGHTS.copy()]
    for array in inputs:
        array.flags.writeable = False
    matrix = kernels.RBF().gram(X)
    matrix.flags.writeable = False
    MKLClassifier().fit(inputs[0], inputs[1], sample_weight=inputs[2])
    MKLClassifier([kernels.Precomputed(matrix)]).fit(np.arange(40), inputs[1], sample_weight=inputs[2])


def test_a_precomputed_matrix_is_never_written_to() -> None:
    matrix = kernels.Linear().gram(X)
    before = joblib.hash(matrix)
    for normalize in ("mean-diagonal", "trace", "diagonal", "center", "center-diagonal", None):
        MKLClassifier([kernels.Precomputed(matrix), kernels.Precomputed(matrix.copy())], normalize=normalize).fit(
            np.arange(40), Y
        )
    assert joblib.hash(matrix) == before


def test_the_model_does_not_follow_later_changes_of_its_training_data() -> None:
    data = X.copy()
    model = MKLClassifier([kernels.RBF()]).fit(data, Y)
    before = model.decision_function(X)
    data[:] = 0.0
    assert np.array_equal(model.decision_function(X), before)


def test_two_models_share_no_state() -> None:
    first, second = MKLClassifier(), MKLClassifier()
    assert first.get_params() == second.get_params()
    first.fit(X, Y)
    assert not hasattr(second, "weights_")


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_clones_are_unfitted_and_equal(model: Any) -> None:
    copy = clone(model.fit(X, Y))
    assert not hasattr(copy, "weights_")
    assert joblib.hash(copy.get_params()) == joblib.hash(model.get_params())
    assert np.allclose(copy.fit(X, Y).predict(X), model.predict(X))


def test_fit_twice_is_fit_once() -> None:
    model = MKLClassifier(probability=True, random_state=0)
    first = model.fit(X, Y).predict_proba(X)
    assert np.array_equal(model.fit(X, Y).predict_proba(X), first)
