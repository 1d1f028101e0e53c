"""The fitted model as text."""

from __future__ import annotations

import numpy as np
import pytest

from polykern import MKLClassifier, MKLOneClass, MKLRegressor, kernels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
Y = (X[:, 0] > 0).astype(int)
KERNELS = [("narrow", kernels.RBF(gamma=1.0)), ("wide", kernels.RBF(gamma=0.1)), ("line", kernels.Linear())]


def test_it_tells_data_problem_gap_weights_and_memory() -> None:
    model = MKLClassifier(KERNELS, C=2.0).fit(X, Y)
    text = model.summary()
    for part in (
        "MKLClassifier",
        "50 samples, 3 kernels, 2 classes",
        "loss hinge",
        "regularizer l1",
        "C 2",
        "with intercept",
    ):
        assert part in text
    assert "converged: the certified gap is within tol" in text
    assert f"{model.result_.gap:.2e}" in text
    assert f"{len(model.support_)} of 50 samples" in text
    for name, weight in model.kernel_weights_.items():
        assert f"{name}" in text
        assert f"{weight:.4f}" in text
    assert "(memory_plan_ has the details)" in text
    assert all(name in model.memory_plan_ for name in model.kernel_names_[:1])
    assert all(line == line.rstrip() for line in text.splitlines())


def test_weights_come_largest_first_and_only_ten() -> None:
    model = MKLClassifier([(f"k{k}", kernels.RBF(gamma=2.0**k)) for k in range(-8, 6)], regularizer="l2").fit(X, Y)
    lines = [line.split() for line in model.summary().splitlines() if line.startswith("    k")]
    shown = [float(line[1]) for line in lines]
    assert len(shown) == 10
    assert shown == sorted(shown, reverse=True)
    assert "... and 4 more" in model.summary()


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (MKLClassifier(KERNELS, multiclass="ovo"), "one-vs-one, kernel weights shared"),
        (MKLClassifier(KERNELS, share_weights=False), "one-vs-rest, kernel weights per output"),
        (MKLClassifier(KERNELS, share_weights=False), "mean over outputs"),
        (MKLRegressor(KERNELS, fit_intercept=False), "without intercept"),
        (MKLOneClass(KERNELS, nu=0.25), "one class, nu 0.25"),
    ],
)
def test_other_models(model: object, part: str) -> None:
    assert part in model.fit(X, np.arange(50) % 3).summary()
