"""MKLOneClass beyond what all estimators share."""

from __future__ import annotations

import numpy as np
import pytest

from polykern import MKLOneClass, kernels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
KERNELS = [("narrow", kernels.RBF(gamma=2.0)), ("wide", kernels.RBF(gamma=0.2))]


@pytest.mark.parametrize("nu", [0.05, 0.3, 1.0])
def test_nu_bounds_outliers_and_support_vectors(nu: float) -> None:
    model = MKLOneClass(KERNELS, nu=nu, regularizer="l2", tol=1e-7).fit(X)
    assert np.mean(model.decision_function(X) < -1e-3) <= nu + 1e-9
    assert len(model.support_) >= nu * len(X) - 1e-9


def test_inside_is_one_and_far_away_is_minus_one() -> None:
    model = MKLOneClass(KERNELS, nu=0.1).fit(X)
    assert model.predict([[0.0, 0.0], [9.0, 9.0]]).tolist() == [1, -1]
    assert set(model.fit_predict(X)) == {-1, 1}


def test_scores_offset_and_decision() -> None:
    model = MKLOneClass(KERNELS, nu=0.1).fit(X)
    assert np.allclose(model.score_samples(X) - model.offset_, model.decision_function(X))
    assert model.offset_ == -model.intercept_
    assert model.dual_coef_.sum() == pytest.approx(0.1 * 120)


def test_the_result_stays_in_the_units_of_the_problem() -> None:
    model = MKLOneClass(KERNELS, nu=0.1).fit(X)
    assert model.result_.coef.sum() == pytest.approx(1.0)
    assert np.allclose(model.dual_coef_, 12.0 * model.result_.coef[model.support_, 0])
