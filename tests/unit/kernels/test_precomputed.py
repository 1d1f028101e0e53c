"""Precomputed matrices: indices, sharing, memory maps, pickles."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone

from polykern.kernels import Precomputed

GENERATOR = np.random.default_rng(0)
FACTOR = GENERATOR.normal(size=(40, 6))
K = FACTOR @ FACTOR.T


@pytest.mark.parametrize(
    ("rows", "cols"),
    [
        ([3, 1, 1, 7], [0, 39]),
        (range(5, 20), range(40)),
        (range(5, 20), [3, 9, 4]),
        ([3, 9, 4], range(10, 12)),
        ([], [1]),
    ],
)
@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float64, object])
def test_gram_reads_entries(rows, cols, shape, dtype):
    X, Z = np.array(rows, dtype=dtype).reshape(shape), np.array(cols, dtype=dtype).reshape(shape)
    expected = np.array([[K[i, j] for j in cols] for i in rows]).reshape(len(rows), len(cols))
    np.testing.assert_array_equal(Precomputed(K).gram(X, Z), expected)
    np.testing.assert_array_equal(Precomputed(K).diag(X), [K[i, i] for i in rows])


def test_gram_is_a_copy_that_leaves_the_matrix_alone():
    before, kernel = K.copy(), Precomputed(K)
    for X in (np.arange(40), np.array([1, 5])):
        kernel.gram(X)[...] = 7.0
    np.testing.assert_array_equal(K, before)


def test_float32_stays_and_other_types_are_converted():
    assert Precomputed(K.astype(np.float32)).gram([0, 1]).dtype == np.float32
    assert Precomputed(K.astype(np.float32)).block([0, 1], [2]).dtype == np.float64
    assert Precomputed([[2, 1], [1, 2]]).K.dtype == np.float64
    assert Precomputed(pd.DataFrame(K)).K.shape == (40, 40)


def test_frames_of_indices():
    np.testing.assert_array_equal(Precomputed(K).gram(pd.DataFrame({"row": [4, 2]})), K[np.ix_([4, 2], [4, 2])])


def test_rectangular_matrices_have_their_own_ranges():
    kernel = Precomputed(K[:, :10])
    np.testing.assert_array_equal(kernel.gram([39], [9]), K[39:, 9:10])
    with pytest.raises(ValueError, match="Z holds the index 10"):
        kernel.gram([39], [10])


def test_cloning_shares_the_matrix():
    kernel = Precomputed(K)
    assert clone(kernel).K is kernel.K is K
    assert clone([("rna", kernel)], safe=False)[0][1].K is K
    assert kernel.set_params(K=K[:3, :3]).K.shape == (3, 3)


def _class_and_sum(kernel):
    return type(kernel.K), float(np.asarray(kernel.K).sum())


@pytest.fixture
def mapped(tmp_path):
    np.save(tmp_path / "K.npy", K)
    return np.load(tmp_path / "K.npy", mmap_mode="r")


def test_memory_maps_stay_memory_maps(mapped):
    kernel = Precomputed(mapped)
    assert kernel.K is mapped
    assert type(kernel.gram(np.arange(5))) is np.ndarray
    assert type(clone(kernel).K) is np.memmap
    np.testing.assert_array_equal(kernel.gram([1, 8]), K[np.ix_([1, 8], [1, 8])])


def test_memory_maps_reach_worker_processes_as_memory_maps(mapped):
    results = joblib.Parallel(n_jobs=2)(joblib.delayed(_class_and_sum)(Precomputed(mapped)) for _ in range(2))
    assert results == [(np.memmap, pytest.approx(K.sum()))] * 2


def test_plain_pickles():
    again = pickle.loads(pickle.dumps(Precomputed(K)))
    np.testing.assert_array_equal(again.K, K)
    assert again.gram([0]).shape == (1, 1)


def test_repr_does_not_print_the_matrix():
    assert repr(Precomputed(K)) == "Precomputed(K=<(40, 40) float64>)"


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([40], ValueError, "X holds the index 40, outside a precomputed kernel of 40 samples: expected 0 to 39"),
        ([0, -1], ValueError, "X holds the index -1, outside"),
        ([0.5], ValueError, "X holds 0.5, expected whole sample numbers"),
        ([np.nan], ValueError, "X holds nan"),
        ([np.inf], ValueError, "X holds inf"),
        ([True], TypeError, "X has type bool"),
        (["a"], TypeError, "expected whole sample numbers"),
        (K, ValueError, r"X has shape \(40, 40\), expected sample numbers \(n,\) or \(n, 1\).*not a table of features"),
        (3, ValueError, r"X has shape \(\)"),
    ],
)
def test_bad_indices(X, error, message):
    for call in (Precomputed(K).gram, Precomputed(K).diag):
        with pytest.raises(error, match=message):
            call(X)


def test_bad_matrices():
    with pytest.raises(ValueError, match=r"K has shape \(3,\), expected a matrix"):
        Precomputed([1, 2, 3])
    with pytest.raises(TypeError, match="K has entries of type complex128"):
        Precomputed(K.astype(complex))
    with pytest.raises(TypeError, match=r"sparse.*K.toarray\(\)"):
        Precomputed(scipy.sparse.csr_array(K))
