"""pandas and polars frames: names, columns, order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_selector
from sklearn.datasets import load_iris

from polykern import MKLClassifier, kernels

X, Y = load_iris(return_X_y=True)
COLUMNS = ["sepal length", "sepal width", "petal length", "petal width"]
PETAL = COLUMNS[2:]
FRAMES = {
    "pandas": lambda data: pd.DataFrame(data, columns=COLUMNS),
    "polars": lambda data: pl.DataFrame(data, COLUMNS),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames_give_the_same_model_as_arrays(make: Any) -> None:
    expected = MKLClassifier().fit(X, Y)
    model = MKLClassifier().fit(make(X), Y)
    assert model.feature_names_in_.tolist() == COLUMNS
    assert model.n_features_in_ == 4
    assert np.array_equal(model.decision_function(make(X)), expected.decision_function(X))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("columns", [PETAL, [2, 3], slice(2, 4), slice("petal length", "petal width")])
def test_columns_by_name_position_and_slice(make: Any, columns: Any) -> None:
    expected = MKLClassifier([kernels.RBF(), kernels.Linear()]).fit(X[:, 2:], Y).decision_function(X[:, 2:])
    model = MKLClassifier([("a", kernels.RBF(), columns), ("b", kernels.Linear(), columns)]).fit(make(X), Y)
    assert np.allclose(model.decision_function(make(X)), expected, atol=1e-5)


def test_columns_by_a_selector_of_scikit_learn() -> None:
    frame = FRAMES["pandas"](X)
    by_selector = MKLClassifier([("a", kernels.RBF(), make_column_selector(pattern="^petal"))]).fit(frame, Y)
    by_name = MKLClassifier([("a", kernels.RBF(), PETAL)]).fit(frame, Y)
    assert np.array_equal(by_selector.decision_function(frame), by_name.decision_function(frame))


def test_columns_inside_a_product() -> None:
    frame = FRAMES["pandas"](X)
    product = kernels.OnColumns(kernels.RBF(), PETAL) * kernels.Linear()
    assert MKLClassifier([product]).fit(frame, Y).predict(frame).shape == (150,)


def test_frame_of_integers_and_series_of_labels() -> None:
    frame = FRAMES["pandas"](np.round(10 * X).astype(int))
    for labels in (
        pd.Series(Y),
        pd.Series(Y).map({0: "a", 1: "b", 2: "c"}),
        pl.Series(Y.astype(str)),
        pd.Categorical(Y),
    ):
        assert MKLClassifier().fit(frame, labels).score(frame, labels) > 0.9


def test_arrays_after_a_frame_warn_as_scikit_learn_does() -> None:
    model = MKLClassifier().fit(FRAMES["pandas"](X), Y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)


def test_a_fit_on_arrays_forgets_the_names() -> None:
    model = MKLClassifier().fit(FRAMES["pandas"](X), Y).fit(X, Y)
    assert not hasattr(model, "feature_names_in_")


def test_sample_weights_with_frames() -> None:
    weights = np.where(np.arange(150) % 5 == 0, 0.0, 1.0)
    kept = weights > 0
    spec = [("petal", kernels.RBF(), PETAL), ("all", kernels.Linear())]
    for make in FRAMES.values():
        model = MKLClassifier(spec).fit(make(X), Y, sample_weight=weights)
        expected = MKLClassifier(spec).fit(make(X[kept]), Y[kept])
        assert np.array_equal(model.decision_function(make(X)), expected.decision_function(make(X)))
