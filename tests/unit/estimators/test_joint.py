"""All classes as one problem: multiclass="joint", loss="multiclass", and M3K through the estimator."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from polykern import MKLClassifier, MKLClassifierCV, mkl_path
from polykern.kernels import RBF, Linear
from polykern.losses import Hinge, MulticlassHinge
from polykern.regularizers import LpBall, MarginSimplex, MixedNorm

KERNELS = [RBF(gamma=0.1), RBF(gamma=1.0), Linear()]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_equals_liblinear(C):
    """One linear kernel: scikit-learn's Crammer-Singer machine, in objective and decisions."""
    X, y = load_digits(n_class=6, return_X_y=True)
    X = X[:300] / 16.0
    y = y[:300]
    peer = LinearSVC(multi_class="crammer_singer", fit_intercept=False, C=C, tol=1e-8, max_iter=100_000).fit(X, y)
    model = MKLClassifier([Linear()], loss="multiclass", normalize=None, C=C, tol=1e-7).fit(X, y)
    F = X @ peer.coef_.T
    ones = np.eye(6)[y]
    objective = 0.5 * np.sum(peer.coef_**2) + C * np.sum((F + 1 - ones).max(axis=1) - F[np.arange(len(y)), y])
    assert model.result_.primal == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), F, atol=2e-4)


def test_names_of_the_same_problem(iris):
    X, y = iris
    ways = ({"loss": "multiclass"}, {"multiclass": "joint"}, {"loss": Hinge(), "multiclass": "joint"})
    fits = [MKLClassifier(KERNELS, **way).fit(X, y) for way in (*ways, {"loss": MulticlassHinge()})]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.decision_function(X), fits[0].decision_function(X))
    assert not fits[0].fit_intercept_ and not np.any(fits[0].intercept_)
    assert fits[0].decision_function(X).shape == (150, 3) and fits[0].score(X, y) > 0.95
    assert "all classes together, kernel weights shared" in fits[0].summary()


def test_two_classes_are_the_hinge_of_the_difference(iris):
    """f_2 - f_1 of the joint problem at C is the f of the binary problem without a bias at C / 2, up to its factor."""
    X, y = iris[0][50:], iris[1][50:]
    joint = MKLClassifier(KERNELS, loss="multiclass", C=1.0, tol=1e-7).fit(X, y)
    binary = MKLClassifier(KERNELS, C=2.0, fit_intercept=False, tol=1e-7).fit(X, y)
    assert joint.decision_function(X).shape == (100,)
    assert joint.result_.primal == pytest.approx(binary.result_.primal / 2.0, rel=1e-6)
    np.testing.assert_allclose(joint.decision_function(X), binary.decision_function(X), atol=1e-3)


def test_weights_of_samples_and_classes(iris):
    X, y = iris
    twice = MKLClassifier(KERNELS, loss="multiclass", normalize=None, tol=1e-7)
    weight = np.where(y == "versicolor", 2.0, 1.0)
    repeated = np.repeat(np.arange(150), weight.astype(int))
    one = twice.fit(X, y, sample_weight=weight).decision_function(X)
    two = twice.fit(X[repeated], y[repeated]).decision_function(X)
    three = MKLClassifier(KERNELS, loss="multiclass", normalize=None, tol=1e-7, class_weight={"versicolor": 2.0}).fit(
        X, y
    )
    np.testing.assert_allclose(one, two, atol=2e-3)
    np.testing.assert_array_equal(one, three.decision_function(X))


def test_m3k_through_the_estimator_and_a_grid(iris):
    X, y = iris
    model = MKLClassifier(KERNELS, loss="multiclass", regularizer=MarginSimplex("50%"), normalize="center-diagonal")
    grid = {"regularizer__gamma0": [None, "50%", "max"], "C": [1.0, 10.0]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.93
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_m3k_with_one_vs_rest_and_its_own_weights(iris):
    X, y = iris
    model = MKLClassifier(KERNELS, multiclass="ovr", share_weights=False, regularizer=MarginSimplex("90%"))
    assert model.fit(X, y).weights_.shape == (3, 3)
    with pytest.raises(ValueError, match="multiclass='joint' or 'ovr'"):
        model.set_params(multiclass="ovo", share_weights=True).fit(X, y)


def test_p_norms_probabilities_and_paths(iris):
    X, y = iris
    model = MKLClassifier(KERNELS, loss="multiclass", regularizer=LpBall(p=1.5), probability=True).fit(X, y)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.mean(model.classes_[chances.argmax(axis=1)] == y) > 0.93
    assert MKLClassifierCV(KERNELS, loss="multiclass", Cs=[0.1, 1.0], ps=[1, 2], cv=3).fit(X, y).score(X, y) > 0.93
    path = mkl_path(X, y, KERNELS, loss="multiclass", Cs=[0.1, 1.0, 10.0])
    assert all(result.gap <= 1e-3 for result in path.results)


def test_what_does_not_go_together(iris):
    X, y = iris
    with pytest.raises(ValueError, match="share_weights is False, and the joint problem has one set"):
        MKLClassifier(KERNELS, loss="multiclass", share_weights=False).fit(X, y)
    with pytest.raises(ValueError, match="InteriorPoint handles losses of single outputs"):
        MKLClassifier(KERNELS, loss="multiclass", solver="InteriorPoint").fit(X, y)


@pytest.mark.parametrize("solver", ["Obscure", "Pegasos", "UFO"])
def test_steps_on_single_samples_have_no_bias(iris, solver):
    X, y = iris
    model = MKLClassifier(KERNELS, loss="multiclass", regularizer=LpBall(p=1.5), solver=solver)
    assert model.fit(X, y).score(X, y) > 0.9 and not model.fit_intercept_
    two = MKLClassifier(KERNELS, regularizer=LpBall(p=1.5), solver=solver).fit(X[:100], y[:100])
    assert not two.fit_intercept_
    with pytest.raises(ValueError, match=f"{solver} has no bias, and fit_intercept is True"):
        two.set_params(fit_intercept=True).fit(X[:100], y[:100])


def test_the_mixed_norm_has_no_bias_either(iris):
    X, y = iris
    model = MKLClassifier(KERNELS, loss="multiclass", regularizer=MixedNorm(p=1.5, l1=1.0)).fit(X, y)
    assert model.result_.solver == "UFO" and not model.fit_intercept_ and model.result_.gap <= 1e-3


def test_what_the_margin_came_to_is_in_the_summary(iris):
    X, y = iris
    model = MKLClassifier(KERNELS, loss="multiclass", regularizer=MarginSimplex("max"), normalize="center-diagonal")
    details = model.fit(X, y).result_.details
    assert details["smallest_margin"] < details["gamma0"] <= details["margin"] + 1e-9
    assert details["margin"] <= details["largest_margin"] * (1 + 1e-6)
    assert "is active (single kernels from" in model.summary()
    free = model.set_params(regularizer__gamma0="0%").fit(X, y)
    assert "is not active" in free.summary()


def test_a_price_that_no_kernel_is_worth_is_a_warning(iris):
    X, y = iris
    model = MKLClassifier(KERNELS, loss="multiclass", regularizer=MixedNorm(p=1.5, l1=1e4))
    with pytest.warns(UserWarning, match="all kernel weights .* are 0"):
        model.fit(X, y)
    assert len(set(model.predict(X))) == 1


def test_hints_name_the_regularizer_that_has_the_parameter():
    with pytest.raises(ValueError, match=r"give regularizer=MarginSimplex\(gamma0='50%'\)"):
        MKLClassifier().set_params(regularizer__gamma0="max")
    with pytest.raises(ValueError, match="p = 1 is not strongly convex"):
        MKLClassifier(KERNELS, regularizer=MixedNorm(p=1.0), fit_intercept=False).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_labels_are_named(missing):
    with pytest.raises(ValueError, match="y has no label for sample 2"):
        MKLClassifier(KERNELS).fit(np.eye(4), np.array(["a", "b", missing, "a"], dtype=object))
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="y has no label for sample 2"):
        MKLClassifier(KERNELS).fit(np.eye(4), pandas.Series(["a", "b", pandas.NA, "a"], dtype="string"))
