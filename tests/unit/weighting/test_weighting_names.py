"""weighting= by name or object, and what all weightings have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from polykern import kernels, weighting
from polykern.bank import build_bank
from polykern.weighting.names import NAMES
from polykern.weighting.scale import to_weights

X = np.random.default_rng(0).normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_gives_a_weighting_with_the_contract(name: str) -> None:
    method = weighting.as_weighting(name)
    given = [kernels.Linear(), kernels.RBF(gamma=0.1), kernels.RBF(gamma=1.0)]
    names, given = method.terms(["a", "b", "c"], given)
    b = method.weights(build_bank(given, X, names=names), Y, np.random.RandomState(0))
    assert b.shape == (len(given),) and b.dtype == np.float64 and (b >= 0).all() and b.sum() == pytest.approx(1.0)
    assert type(clone(method)) is type(method)


def test_an_object_is_itself() -> None:
    method = weighting.PWMK(delta=0.1)
    assert weighting.as_weighting(method) is method


@pytest.mark.parametrize(
    ("spec", "error", "sentence"),
    [
        ("align_f", ValueError, "weighting is 'align_f', expected one of 'uniform', .* Did you mean 'alignf'"),
        ("CKA", ValueError, "Did you mean 'cka'"),
        ("zzz", ValueError, "or an object of polykern.weighting.$"),
        (None, TypeError, "weighting is None, expected 'uniform'"),
        (weighting.Align, TypeError, r"weighting is the class Align, expected an object: Align\(\)"),
    ],
)
def test_what_is_no_weighting(spec: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        weighting.as_weighting(spec)


def test_scores_become_weights() -> None:
    none = np.zeros(3, dtype=bool)
    assert to_weights([1.0, 3.0, 0.0], none).tolist() == [0.25, 0.75, 0.0]
    assert to_weights([1.0, -3.0, 1.0], none).tolist() == [0.5, 0.0, 0.5]
    assert to_weights([1.0, 3.0, 1.0], np.array([False, True, False])).tolist() == [0.5, 0.0, 0.5]
    assert to_weights([-1.0, 0.0, 5.0], np.array([False, False, True])).tolist() == [0.5, 0.5, 0.0]
    assert to_weights([1.0, 2.0], np.array([True, True])).tolist() == [0.5, 0.5]
