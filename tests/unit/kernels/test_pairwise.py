"""The base matrices against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from polykern.kernels.pairwise import BASES, base_block
from polykern.parallel import run_blocks, spans


def _cosine(x, z):
    lengths = np.linalg.norm(x) * np.linalg.norm(z)
    return 0.0 if lengths == 0 else float(x @ z) / lengths


def _chi2(x, z):
    return 0.5 * sum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0)


ENTRY = {
    "dot": lambda x, z: sum(a * b for a, b in zip(x, z, strict=True)),
    "squared_distance": lambda x, z: sum((a - b) ** 2 for a, b in zip(x, z, strict=True)),
    "l1_distance": lambda x, z: sum(abs(a - b) for a, b in zip(x, z, strict=True)),
    "chi2_distance": _chi2,
    "min_sum": lambda x, z: sum(min(a, b) for a, b in zip(x, z, strict=True)),
    "cosine": _cosine,
}


def oracle(name, X, Z):
    return np.array([[ENTRY[name](x, z) for z in Z.astype(float)] for x in X.astype(float)])


def histograms(n, d, seed):
    values = np.random.default_rng(seed).gamma(1.0, size=(n, d))
    values[values < 0.3] = 0.0
    values[0] = 0.0
    return values


def test_every_base_has_an_oracle():
    assert set(ENTRY) == set(BASES)


@pytest.mark.parametrize("name", sorted(BASES))
@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-6)])
def test_bases_equal_plain_loops(name, d, dtype, tolerance):
    X, Z = histograms(23, d, 0), histograms(17, d, 1)
    block = base_block(name, X, Z, dtype)
    expected = oracle(name, X, Z)
    assert block.dtype == dtype
    np.testing.assert_allclose(block, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", sorted(BASES))
def test_bases_read_any_memory_layout_and_leave_it_alone(name):
    X, Z = histograms(40, 12, 0), histograms(30, 12, 1)
    before = X.copy()
    strided = base_block(name, X[::2, 1::3], np.asfortranarray(Z)[:, 1::3])
    np.testing.assert_allclose(strided, oracle(name, X[::2, 1::3], Z[:, 1::3]), atol=1e-12)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("name", sorted(BASES))
def test_bases_are_the_same_from_several_threads(name):
    X = histograms(300, 5, 0)
    parts = run_blocks(lambda rows: base_block(name, X[rows], X), spans(300, 11), n_jobs=4)
    np.testing.assert_allclose(np.vstack(parts), base_block(name, X, X), atol=1e-12)


@pytest.mark.parametrize("name", sorted(BASES))
def test_bases_of_no_rows(name):
    assert base_block(name, np.empty((0, 3)), np.ones((2, 3))).shape == (0, 2)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squared_distances_far_from_the_origin_keep_their_digits(d, dtype):
    """|x|^2 + |z|^2 - 2 x.z would lose all digits here."""
    near = np.random.default_rng(0).integers(-4, 5, size=(50, d)).astype(float)
    block = base_block("squared_distance", near + 1e9, near + 1e9, dtype)
    np.testing.assert_allclose(block, oracle("squared_distance", near, near), rtol=1e-6, atol=1e-12)


def test_squared_distances_are_never_negative_and_zero_on_the_diagonal():
    X = np.random.default_rng(0).normal(size=(400, 30)) * 1e3
    block = base_block("squared_distance", X, X)
    assert block.min() == 0.0
    assert np.all(np.diagonal(block) == 0.0)
    assert base_block("squared_distance", X, X.copy()).min() >= 0.0


def test_l1_distances_in_float32_far_from_the_origin():
    near = np.random.default_rng(0).integers(-4, 5, size=(50, 3)).astype(float)
    block = base_block("l1_distance", near + 1e9, near + 1e9, np.float32)
    np.testing.assert_allclose(block, oracle("l1_distance", near, near), rtol=1e-6)


def test_cosines_survive_tiny_and_huge_rows():
    X = np.array([[1e-200, 1e-200], [1e200, 1e200], [1e-310, 0.0]])
    np.testing.assert_allclose(base_block("cosine", X, X)[:2, :2], 1.0)
    np.testing.assert_allclose(base_block("cosine", X, X)[2], [np.sqrt(0.5), np.sqrt(0.5), 1.0])


@pytest.mark.parametrize("name", ["chi2_distance", "min_sum"])
def test_negative_features_are_refused_with_their_place(name):
    X = np.ones((3, 2))
    X[1, 1] = -0.25
    with pytest.raises(ValueError, match=rf"{name} needs features >= 0, but feature 1 is -0.25 in row 1"):
        base_block(name, np.ones((2, 2)), X)


def test_unknown_base_and_unequal_features():
    with pytest.raises(ValueError, match="base is 'hamming', expected one of chi2_distance, cosine"):
        base_block("hamming", np.ones((2, 2)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="X has 2 features and Z has 3"):
        base_block("dot", np.ones((2, 2)), np.ones((2, 3)))
