"""Groups of kernels through the estimators: by name, in searches, cloned and pickled."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from polykern import MKLClassifier, MKLRegressor, kernels
from polykern.regularizers import GroupedNorm

RNG = np.random.default_rng(0)
SIGN = np.where(RNG.uniform(size=80) < 0.5, -1.0, 1.0)
X = RNG.normal(size=(80, 6)) + np.outer(SIGN, [1.0, 1.0, 0.5, 0.5, 0.0, 0.0])
VIEWS = {"left": [0, 1], "middle": [2, 3], "right": [4, 5]}
SPEC = [(f"{view} {gamma}", kernels.RBF(gamma=gamma), cols) for view, cols in VIEWS.items() for gamma in (0.1, 1.0)]
GROUPS = {view: [f"{view} 0.1", f"{view} 1.0"] for view in VIEWS}


def sums_of(weights):
    return weights.reshape(3, 2).sum(axis=1)


@pytest.mark.parametrize("q", [0.75, 1.0, 2.0, np.inf])
def test_classifier_with_groups_by_name(q):
    model = MKLClassifier(SPEC, regularizer=GroupedNorm(GROUPS, q)).fit(X, SIGN)
    assert model.result_.status.converged and model.result_.gap <= 1e-3
    assert model.score(X, SIGN) > 0.85
    sums = sums_of(model.weights_)
    exponent = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}.get(q)
    size = np.linalg.norm(sums, q / (1 - q)) if q < 1 else np.linalg.norm(1 / sums, exponent)
    assert size == pytest.approx(1.0)


def test_positions_and_labels_are_the_same_groups():
    by_name, by_place, by_label = (
        MKLClassifier(SPEC, regularizer=GroupedNorm(groups, 2.0)).fit(X, SIGN).weights_
        for groups in (GROUPS, [[0, 1], [2, 3], [4, 5]], ["left", "left", "middle", "middle", "right", "right"])
    )
    np.testing.assert_array_equal(by_name, by_place)
    np.testing.assert_array_equal(by_name, by_label)


@pytest.mark.parametrize("share_weights", [True, False])
def test_three_classes(share_weights):
    species = np.digitize(X[:, 0] + X[:, 2], [-0.5, 1.0])
    model = MKLClassifier(SPEC, regularizer=GroupedNorm(GROUPS, 2.0), share_weights=share_weights).fit(X, species)
    assert model.weights_.shape == ((6,) if share_weights else (3, 6))
    assert model.score(X, species) > 0.8


def test_regressor():
    target = X[:, 0] + np.sin(X[:, 2])
    model = MKLRegressor(SPEC, regularizer=GroupedNorm(GROUPS, 1.5), C=10.0).fit(X, target)
    assert model.result_.status.converged and model.score(X, target) > 0.8


def test_grid_search_over_q():
    search = GridSearchCV(
        MKLClassifier(SPEC, regularizer=GroupedNorm(GROUPS)), {"regularizer__q": [0.5, 1.0, 2.0]}, cv=2
    ).fit(X, SIGN)
    assert search.best_estimator_.regularizer.q == search.best_params_["regularizer__q"]
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_fit_leaves_the_regularizer_as_it_was_and_models_travel():
    regularizer = GroupedNorm(GROUPS, 2.0)
    model = MKLClassifier(SPEC, regularizer=regularizer).fit(X, SIGN)
    assert vars(regularizer) == {"groups": GROUPS, "q": 2.0}
    again = clone(model).fit(X, SIGN)
    np.testing.assert_array_equal(again.weights_, model.weights_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_a_kernel_in_no_group_and_one_that_is_not_there():
    with pytest.raises(ValueError, match=r"2 of 6 kernels are in no group of GroupedNorm \('right 0.1', 'right 1.0'\)"):
        MKLClassifier(SPEC, regularizer=GroupedNorm({k: GROUPS[k] for k in ("left", "middle")})).fit(X, SIGN)
    with pytest.raises(ValueError, match="holds 'right 0.2', and no kernel has that name: did you mean 'right 0.1'"):
        MKLClassifier(SPEC, regularizer=GroupedNorm(GROUPS | {"right": ["right 0.2", "right 1.0"]})).fit(X, SIGN)
    with pytest.raises(ValueError, match="q of GroupedNorm is 0.2, expected a number from 1/2"):
        MKLClassifier(SPEC, regularizer=GroupedNorm(GROUPS, 0.2)).fit(X, SIGN)
