"""With one kernel, MKL is the kernel machine that everyone knows: scikit-learn is the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR, OneClassSVM

from polykern import MKLClassifier, MKLOneClass, MKLRegressor, kernels

CANCER, BENIGN = load_breast_cancer(return_X_y=True)
CANCER, BENIGN = scale(CANCER)[::2], BENIGN[::2]
DIABETES, PROGRESSION = load_diabetes(return_X_y=True)
DIABETES, PROGRESSION = scale(DIABETES), scale(PROGRESSION)
IRIS, SPECIES = load_iris(return_X_y=True)

GAMMA = 0.02
KERNELS = {"rbf": kernels.RBF(gamma=GAMMA), "poly": kernels.Polynomial(degree=2, gamma=GAMMA, coef0=1.0)}
REFERENCE = {
    "rbf": {"kernel": "rbf", "gamma": GAMMA},
    "poly": {"kernel": "poly", "degree": 2, "gamma": GAMMA, "coef0": 1.0},
}
# p does not matter: the weight of a single kernel is 1 in every ball.
REGULARIZERS = ["l1", 1.5, "linf"]


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_svc(kernel: str, C: float, regularizer: Any) -> None:
    expected = SVC(C=C, tol=1e-6, **REFERENCE[kernel]).fit(CANCER, BENIGN)
    model = MKLClassifier([KERNELS[kernel]], C=C, regularizer=regularizer, normalize=None, tol=1e-8).fit(CANCER, BENIGN)
    assert model.weights_ == pytest.approx([1.0])
    assert np.allclose(model.decision_function(CANCER), expected.decision_function(CANCER), atol=1e-3)


def test_svc_with_weights() -> None:
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(BENIGN))
    expected = SVC(gamma=GAMMA, class_weight={0: 2.0}, tol=1e-6).fit(CANCER, BENIGN, sample_weight=weights)
    model = MKLClassifier([KERNELS["rbf"]], class_weight={0: 2.0}, normalize=None, tol=1e-8)
    model.fit(CANCER, BENIGN, sample_weight=weights)
    assert np.allclose(model.decision_function(CANCER), expected.decision_function(CANCER), atol=1e-3)


@pytest.mark.parametrize("share_weights", [True, False])
def test_svc_of_three_classes_is_one_vs_one(share_weights: bool) -> None:
    expected = SVC(gamma=GAMMA, C=10.0, tol=1e-6).fit(IRIS, SPECIES)
    model = MKLClassifier(
        [KERNELS["rbf"]], C=10.0, multiclass="ovo", share_weights=share_weights, normalize=None, tol=1e-8
    )
    decision = model.fit(IRIS, SPECIES).decision_function(IRIS)
    assert np.allclose(decision, expected.decision_function(IRIS), atol=1e-3)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("epsilon", [0.05, 0.5])
def test_svr(kernel: str, epsilon: float, regularizer: Any) -> None:
    expected = SVR(epsilon=epsilon, tol=1e-6, **REFERENCE[kernel]).fit(DIABETES, PROGRESSION)
    model = MKLRegressor([KERNELS[kernel]], epsilon=epsilon, regularizer=regularizer, normalize=None, tol=1e-8)
    assert np.allclose(model.fit(DIABETES, PROGRESSION).predict(DIABETES), expected.predict(DIABETES), atol=1e-3)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_one_class_svm(kernel: str, nu: float, regularizer: Any) -> None:
    expected = OneClassSVM(nu=nu, tol=1e-8, **REFERENCE[kernel]).fit(CANCER)
    model = MKLOneClass([KERNELS[kernel]], nu=nu, regularizer=regularizer, normalize=None, tol=1e-10).fit(CANCER)
    size = np.abs(expected.decision_function(CANCER)).max()
    assert np.allclose(model.decision_function(CANCER), expected.decision_function(CANCER), atol=1e-3 * max(1.0, size))
    assert np.allclose(model.score_samples(CANCER), expected.score_samples(CANCER), atol=1e-3 * max(1.0, size))
    assert model.offset_ == pytest.approx(float(expected.offset_[0]), abs=1e-3 * max(1.0, size))


def test_one_class_svm_with_weights() -> None:
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(CANCER))
    expected = OneClassSVM(nu=0.2, gamma=GAMMA, tol=1e-8).fit(CANCER, sample_weight=weights)
    model = MKLOneClass([KERNELS["rbf"]], nu=0.2, normalize=None, tol=1e-10).fit(CANCER, sample_weight=weights)
    assert np.allclose(model.decision_function(CANCER), expected.decision_function(CANCER), atol=1e-2)
