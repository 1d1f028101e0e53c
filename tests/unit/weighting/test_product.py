"""Product: one kernel out of many, and how it meets normalization."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracles.bank import normalized
from polykern import kernels, weighting
from polykern.bank import build_bank

X = np.random.default_rng(0).normal(size=(30, 4))
GIVEN = [
    kernels.OnColumns(kernels.RBF(gamma=0.4), [0, 1]),
    kernels.OnColumns(kernels.Linear(), [1, 2]),
    kernels.Polynomial(degree=2),
]
NAMES = ["a", "b", "c"]


def product_matrix(given: Any, data: Any, normalize: Any) -> np.ndarray:
    names, combined = weighting.Product().terms(NAMES, given)
    bank = build_bank(combined, data, names=names, normalize=normalize)
    assert weighting.Product().weights(bank, np.zeros(len(X)), np.random.RandomState(0)).tolist() == [1.0]
    return bank.combine([1.0])


@pytest.mark.parametrize("normalize", [None, "mean-diagonal", "trace", "diagonal", "center", "center-diagonal"])
def test_the_product_is_normalized_not_its_factors(normalize: Any) -> None:
    expected = normalized(np.prod([kernel.gram(X) for kernel in GIVEN], axis=0), normalize)
    assert np.allclose(product_matrix(GIVEN, X, normalize), expected, rtol=1e-8, atol=1e-10)
    assert np.linalg.eigvalsh(expected).min() > -1e-8 * np.linalg.eigvalsh(expected).max()


@pytest.mark.parametrize("normalize", ["mean-diagonal", "trace", "diagonal"])
def test_without_centring_it_is_the_product_of_normalized_kernels_up_to_its_scale(normalize: str) -> None:
    factors = np.prod([normalized(kernel.gram(X), normalize) for kernel in GIVEN], axis=0)
    K = product_matrix(GIVEN, X, normalize)
    assert np.allclose(K / np.trace(K), factors / np.trace(factors), rtol=1e-9, atol=1e-12)


def test_rbf_kernels_on_columns_become_one_on_all_of_them() -> None:
    each = [kernels.OnColumns(kernels.RBF(gamma=0.5), [k]) for k in range(4)]
    assert np.allclose(product_matrix(each, X, None), kernels.RBF(gamma=0.5).gram(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precomputed_kernels_become_one_matrix(dtype: Any) -> None:
    Ks = [kernel.gram(X).astype(dtype) for kernel in GIVEN]
    before = [K.copy() for K in Ks]
    given = [kernels.Precomputed(K) for K in Ks]
    _, (combined,) = weighting.Product().terms(NAMES, given)
    assert isinstance(combined, kernels.Precomputed) and combined.K.dtype == np.float64
    assert np.allclose(product_matrix(given, np.arange(30), None), np.prod(Ks, axis=0), rtol=1e-5)
    assert all(np.array_equal(K, old) for K, old in zip(Ks, before, strict=True))


def test_names() -> None:
    assert weighting.Product().terms(NAMES, GIVEN)[0] == ["a * b * c"]
    assert weighting.Product().terms(list("abcde"), [kernels.RBF()] * 5)[0] == ["product of 5 kernels"]
    assert weighting.Product().terms(["a"], GIVEN[:1]) == (["a"], GIVEN[:1])


def test_other_weightings_leave_the_kernels_alone() -> None:
    assert weighting.AlignF().terms(NAMES, GIVEN) == (NAMES, GIVEN)


def test_a_bank_of_several_kernels_is_refused() -> None:
    with pytest.raises(
        ValueError, match="Product got a bank of 3 kernels, expected one, their product: build the bank"
    ):
        weighting.Product().weights(build_bank(GIVEN, X), np.zeros(30), np.random.RandomState(0))
