"""Prediction: what is kept is small, travels, and gives the same numbers on the other side."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from polykern import kernels
from polykern.bank import build_bank
from polykern.kernels import OnColumns, Precomputed

NORMALIZERS = ["mean-diagonal", "diagonal", "center", "center-diagonal"]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return np.column_stack([np.arange(400.0), rng.standard_normal((400, 3))])


@pytest.fixture
def K():
    A = np.random.default_rng(1).standard_normal((500, 6))
    return A @ A.T


@pytest.mark.parametrize("normalize", NORMALIZERS)
def test_a_pickled_reference_gives_the_same_numbers(data, K, normalize):
    family = [
        OnColumns(Precomputed(K), [0]),
        OnColumns(kernels.RBF(gamma=0.5), [1, 2]),
        OnColumns(kernels.RBF(gamma=2.0), [1, 2]),
    ]
    train = np.r_[0:100, 150:399]
    bank = build_bank(family, data[train], normalize=normalize)
    new = data[[120, 110, 3]].copy()
    new[:, 0] = [499, 20, 130]
    reference = bank.keep([5, 300, 41])
    travelled = pickle.loads(pickle.dumps(reference))
    twice = pickle.loads(pickle.dumps(travelled))
    weights, coef = [1.0, 0.5, 2.0], [1.0, -2.0, 0.5]
    for other in (travelled, twice):
        np.testing.assert_allclose(other.against(new, weights), reference.against(new, weights), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(other.scores(new, coef), reference.scores(new, coef), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        reference.against(data[train], weights), bank.combine(weights)[:, [5, 300, 41]], atol=1e-12
    )


def test_pickles_are_small(data, K):
    on_data = build_bank([OnColumns(kernels.RBF(gamma=0.5), [1, 2, 3])], data)
    assert len(pickle.dumps(on_data.keep(np.arange(10)))) < 4000 + 10 * 3 * 8
    on_matrix = build_bank([Precomputed(K)], np.arange(400))
    few, more = (len(pickle.dumps(on_matrix.keep(np.arange(n)))) for n in (5, 10))
    assert few < 4000 + 500 * 8 * (5 + 1)
    assert more - few == pytest.approx(500 * 8 * 5, abs=200)


def test_references_share_the_matrix_until_they_travel(K):
    reference = build_bank([Precomputed(K)], np.arange(400)).keep([3, 4])
    assert np.shares_memory(reference._matrices[0].matrix, K)


def test_a_reference_outlives_its_bank_and_does_not_hold_the_training_data(data):
    bank = build_bank([OnColumns(kernels.RBF(gamma=0.5), [1, 2, 3])], data)
    reference = bank.keep([1, 2])
    expected = bank.rows([1, 2], [1.0]).T
    held = sum(view.nbytes for view in reference._kept)
    del bank
    assert held == 2 * 3 * 8
    assert not any(np.shares_memory(view, data) for view in reference._kept)
    np.testing.assert_allclose(reference.against(data, [1.0]), expected, atol=1e-14)


def test_no_samples(data):
    reference = build_bank([OnColumns(kernels.RBF(gamma=0.5), [1, 2])], data, normalize="center-diagonal").keep([])
    assert reference.against(data[:3], [1.0]).shape == (3, 0)
    assert not reference.scores(data[:3], np.empty(0)).any()
    assert build_bank(["rbf"], data).keep([1, 2]).against(data[:0], [1.0]).shape == (0, 2)


def test_indices_outside_the_matrix(K):
    reference = build_bank([Precomputed(K)], np.arange(400), names=["rna"]).keep([3, 4])
    for one in (reference, pickle.loads(pickle.dumps(reference))):
        with pytest.raises(
            ValueError, match=r"kernel 0 \('rna'\) holds the index 500, outside a precomputed kernel of 500"
        ):
            one.against(np.array([500]), [1.0])


def test_the_dtype_is_that_of_the_bank(data):
    bank = build_bank([OnColumns(kernels.RBF(gamma=0.5), [1, 2])], data, dtype="float32")
    assert bank.keep([1]).against(data[:2], [1.0]).dtype == np.float32
    assert bank.keep([1]).scores(data[:2], [1.0]).dtype == np.float64
