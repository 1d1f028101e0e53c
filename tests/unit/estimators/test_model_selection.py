"""Pipelines, grid searches, nested parameter names."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polykern import MKLClassifier, MKLRegressor, kernels, regularizers, solvers

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[::3], Y[::3]


def test_defaults_do_well_on_iris_and_breast_cancer() -> None:
    iris, species = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), MKLClassifier())
    assert cross_val_score(model, iris, species, cv=3).mean() > 0.93
    assert cross_val_score(model, X, Y, cv=3).mean() > 0.93


def test_grid_search_reaches_nested_parameters_in_parallel() -> None:
    spec = [("wide", kernels.RBF()), ("line", kernels.Linear())]
    model = make_pipeline(StandardScaler(), MKLClassifier(spec, regularizer=regularizers.LpBall(p=1.5)))
    grid = {"mklclassifier__regularizer__p": [1.0, 2.0], "mklclassifier__C": [0.01, 1.0]}
    search = GridSearchCV(model, grid, n_jobs=2, cv=2).fit(X, Y)
    assert search.best_params_["mklclassifier__C"] == 1.0
    assert len(np.unique(search.cv_results_["mean_test_score"])) > 1
    assert search.best_estimator_[-1].regularizer.p == search.best_params_["mklclassifier__regularizer__p"]


def test_nested_parameters_of_the_solver() -> None:
    model = MKLClassifier(solver=solvers.SILP())
    names = [name for name in model.get_params() if name.startswith("solver__")]
    for name in names:
        model.set_params(**{name: model.get_params()[name]})
    assert model.get_params()["solver"] is model.solver


def test_the_regressor_in_a_search_over_losses() -> None:
    values = X[:, 0] / X[:, 0].std()
    search = GridSearchCV(MKLRegressor(["linear", "rbf"]), {"loss": ["squared", "epsilon_insensitive"]}, cv=2)
    assert search.fit(X[:, 1:], values).best_score_ > 0.5
