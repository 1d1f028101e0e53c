"""What `fit` and `predict` do besides solving, per kernel given as a matrix: counted in calls, not seconds."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable

import numpy as np
import pytest

from polykern import MKLClassifier, kernels

N, FEW, MANY = 30, 60, 260
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, MANY))
Y = (X[:, 0] > 0).astype(int)
MATRICES = [np.exp(-((X[:, [k]] - X[:, k]) ** 2)) for k in range(MANY)]
# Of Python functions and built-in ones. With 400 of them a fit took 12 times as long as its solve.
MOST_CALLS_OF_FIT = {"mean-diagonal": 150, "center-diagonal": 250, None: 150}
MOST_CALLS_OF_PREDICT = {"mean-diagonal": 25, "center-diagonal": 90, None: 25}


def n_calls(function: Callable[[], object]) -> int:
    function()  # the first one compiles
    profile = cProfile.Profile()
    profile.runcall(function)
    return int(pstats.Stats(profile).total_calls)


def model(n_kernels: int, normalize: str | None) -> MKLClassifier:
    given = [(f"k{k}", kernels.Precomputed(K)) for k, K in enumerate(MATRICES[:n_kernels])]
    return MKLClassifier(given, regularizer="linf", normalize=normalize)  # one machine: the solver hardly counts


@pytest.mark.parametrize("normalize", ["mean-diagonal", "center-diagonal", None])
def test_calls_per_kernel(normalize: str | None) -> None:
    few, many = model(FEW, normalize), model(MANY, normalize)
    for bounds, call in (
        (MOST_CALLS_OF_FIT, lambda one: one.fit(np.arange(N), Y)),
        (MOST_CALLS_OF_PREDICT, lambda one: one.predict(np.arange(N))),
    ):
        more = n_calls(lambda call=call: call(many)) - n_calls(lambda call=call: call(few))
        assert more / (MANY - FEW) < bounds[normalize]


@pytest.mark.parametrize("normalize", ["mean-diagonal", "center-diagonal"])
def test_kernels_of_weight_zero_cost_nothing_at_prediction(normalize: str | None) -> None:
    counts = []
    for n_kernels in (FEW, MANY):
        fitted = model(n_kernels, normalize).fit(np.arange(N), Y)
        fitted.weights_ = np.where(np.arange(n_kernels) < 3, fitted.weights_, 0.0)
        counts.append(n_calls(lambda one=fitted: one.predict(np.arange(N))))
    assert abs(counts[1] - counts[0]) < 10


def test_ordinary_matrices_take_no_eigenvalues(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of low rank and of full rank, small and large: a factor of them says enough."""

    def refuse(*arguments: object) -> None:
        raise AssertionError("eigenvalues were computed")

    monkeypatch.setattr(np.linalg, "eigvalsh", refuse)
    for n in (40, 200, 600):
        table = RNG.normal(size=(n, 8))
        given = [kernels.RBF(gamma=gamma).gram(table) for gamma in (0.001, 0.1, 10.0)]
        given += [K.astype(np.float32) for K in given] + [kernels.Linear().gram(table)]
        MKLClassifier([kernels.Precomputed(K) for K in given], regularizer="linf").fit(np.arange(n), table[:, 0] > 0)
