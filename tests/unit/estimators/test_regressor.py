"""MKLRegressor beyond what all estimators share."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from polykern import MKLRegressor, kernels, losses

X, TARGET = load_diabetes(return_X_y=True)
X, Y = X[:150], (TARGET[:150] - TARGET.mean()) / TARGET.std()
KERNELS = [("wide", kernels.RBF(gamma=2.0)), ("line", kernels.Linear())]


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared", losses.EpsilonInsensitive(epsilon=0.2)])
@pytest.mark.parametrize("regularizer", ["l1", 1.5, "linf"])
def test_it_learns(loss: object, regularizer: object) -> None:
    model = MKLRegressor(KERNELS, loss=loss, regularizer=regularizer).fit(X, Y)
    assert model.predict(X).shape == (150,)
    assert model.score(X, Y) > 0.4
    assert model.result_.gap <= model.tol


def test_samples_inside_the_tube_are_no_support_vectors() -> None:
    model = MKLRegressor(KERNELS, epsilon=0.5, tol=1e-8).fit(X, Y)
    inside = np.abs(model.predict(X) - Y) < 0.5 - 1e-2
    assert inside.any()
    assert not np.isin(np.flatnonzero(inside), model.support_).any()


def test_epsilon_belongs_to_the_named_loss_only() -> None:
    named = MKLRegressor(KERNELS, epsilon=0.3).fit(X, Y).predict(X)
    given = MKLRegressor(KERNELS, loss=losses.EpsilonInsensitive(epsilon=0.3), epsilon=0.9).fit(X, Y).predict(X)
    assert np.array_equal(named, given)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared"])
def test_a_constant_target_is_predicted(loss: str) -> None:
    model = MKLRegressor(KERNELS, loss=loss).fit(X, np.full(150, 3.0))
    assert np.allclose(model.predict(X), 3.0, atol=0.11)


def test_without_intercept_the_kernels_carry_the_mean() -> None:
    model = MKLRegressor(KERNELS, fit_intercept=False).fit(X, Y + 5)
    assert model.intercept_ == 0.0
    assert model.fit_intercept_ is False
