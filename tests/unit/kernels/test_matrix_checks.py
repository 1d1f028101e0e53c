"""Validation of given matrices: exact when small, cheap and sound when large."""

from __future__ import annotations

import numpy as np
import pytest

from polykern.kernels import check_matrix, check_psd, nearest_psd
from polykern.kernels.layout import locate
from polykern.kernels.matrix_checks import MANY, check_matrices

LABEL = "kernel 3 ('rna')"


def kernel_matrix(n, rank=20, seed=0):
    factor = np.random.default_rng(seed).normal(size=(n, rank))
    return factor @ factor.T


class Counting(np.ndarray):
    """An array that counts the entries read through indexing."""

    read = 0

    def __getitem__(self, key):
        part = np.asarray(self)[key]
        type(self).read += np.size(part)
        return part


@pytest.mark.parametrize("n", [1, 2, 100, 512, 513, 1500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_matrices_pass(n, dtype):
    check_matrix(kernel_matrix(n).astype(dtype), LABEL)


def test_zero_and_constant_matrices_pass():
    check_matrix(np.zeros((5, 5)))
    check_matrix(np.full((600, 600), 2.0))


def test_large_matrices_are_read_in_less_than_one_pass():
    K = kernel_matrix(2500).view(Counting)
    Counting.read = 0
    check_matrix(K)
    assert 0 < Counting.read < K.size / 50


@pytest.mark.parametrize(("shape", "text"), [((100, 90), r"\(100, 90\)"), ((4,), r"\(4,\)")])
def test_not_square(shape, text):
    with pytest.raises(ValueError, match=rf"kernel 3 \('rna'\) has shape {text}, expected a square matrix"):
        check_matrix(np.ones(shape), LABEL)


@pytest.mark.parametrize("n", [10, 2000])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite_is_found_wherever_it_is(n, bad):
    K = kernel_matrix(n)
    K[n - 1, 3] = bad
    with pytest.raises(ValueError, match=rf"kernel 3 \('rna'\) is {bad} at \({n - 1}, 3\)"):
        check_matrix(K, LABEL)


def test_not_symmetric():
    K = kernel_matrix(10)
    K[7, 2] += 1.0
    with pytest.raises(ValueError, match=r"not symmetric: K\[2, 7\] = .* but K\[7, 2\]"):
        check_matrix(K, LABEL)
    large = np.random.default_rng(0).normal(size=(1000, 1000))
    with pytest.raises(ValueError, match="not symmetric"):
        check_matrix(large, LABEL)


def test_symmetric_up_to_rounding_passes():
    K = kernel_matrix(50)
    check_matrix(K + 1e-8 * np.random.default_rng(0).normal(size=K.shape))


def test_symmetry_of_pairs_outside_the_submatrix():
    """Half of the matrix is scaled: whichever 256 samples are drawn, the 4096 pairs see it as well."""
    K = kernel_matrix(800)
    K[:400, 400:] *= 1.5
    with pytest.raises(ValueError, match="not symmetric"):
        check_matrix(K)


def test_indefinite_small_matrix_names_its_most_negative_eigenvalue_and_the_way_out():
    K = kernel_matrix(60, rank=80)
    K -= 3.0 * np.eye(60) * np.linalg.eigvalsh(K)[0] + 0.5 * np.eye(60)
    smallest = np.linalg.eigvalsh(K)[0]
    assert smallest < -0.4
    with pytest.raises(ValueError, match=rf"not positive semidefinite.*eigenvalue is {smallest:.4g}.*nearest_psd"):
        check_matrix(K, LABEL)
    check_matrix(K - 1.01 * smallest * np.eye(60))
    check_matrix(nearest_psd(K))


def test_tolerance_is_relative_to_the_largest_eigenvalue():
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 20)))[0]
    for smallest, passes in ((-0.9e-3, True), (-1.1e-3, False)):
        values = np.r_[smallest, np.linspace(1, 100, 19)]
        K = (vectors * values) @ vectors.T
        if passes:
            check_psd(K)
        else:
            with pytest.raises(ValueError, match="not positive semidefinite"):
                check_psd(K)


def test_large_indefinite_matrix_is_found_and_the_claim_is_sound():
    X = np.random.default_rng(0).normal(size=(700, 5))
    K = np.tanh(X @ X.T - 1.0)
    with pytest.raises(ValueError, match=r"256 of its 700 samples alone give a most negative") as info:
        check_matrix(K, LABEL)
    claimed = float(str(info.value).split("eigenvalue of ")[1].split(",")[0])
    assert np.linalg.eigvalsh(K)[0] <= claimed < 0


@pytest.mark.parametrize("n", [30, 600])
@pytest.mark.parametrize("excess", [0.5, 0.98, 1.02, 2.0])
def test_the_factor_passes_nothing_that_the_eigenvalues_refuse(n, excess):
    """A negative eigenvalue of `excess` times what is allowed, beside large and small ones, at full rank."""
    rng = np.random.default_rng(n)
    size = min(n, 256)
    vectors = np.linalg.qr(rng.standard_normal((size, size)))[0]
    values = np.r_[-1e-5 * excess * n / size, np.geomspace(1e-3, 1.0, size - 1)]
    block = (vectors * values) @ vectors.T
    if excess < 1.0:
        check_psd(block, LABEL, n)
    else:
        with pytest.raises(ValueError, match="not positive semidefinite"):
            check_psd(block, LABEL, n)


def test_check_psd_changes_nothing():
    for K in (kernel_matrix(40), kernel_matrix(40, rank=60), np.zeros((3, 3))):
        before = K.copy()
        check_psd(K)
        np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("further", [0, MANY])
def test_the_first_of_several_that_is_wrong_is_named(further, n_jobs):
    matrices = [kernel_matrix(n, seed=k) for k, n in enumerate([30, 30, 600, 30, 30, 600, 30])]
    matrices += [kernel_matrix(40, seed=k) for k in range(further)]
    indefinite, crooked, missing = 3, 2, 5
    matrices[indefinite] -= 100.0 * np.eye(30)
    matrices[missing][7, 7] = np.nan
    places = [locate(K) for K in matrices]
    with pytest.raises(ValueError, match=r"kernel 3 is not positive semidefinite: its most negative eigenvalue is -"):
        check_matrices(matrices, places, "kernel {}".format, n_jobs)
    matrices[crooked][:300, 300:] *= 2.0
    with pytest.raises(ValueError, match=r"kernel 2 is not symmetric"):
        check_matrices(matrices, places, "kernel {}".format, n_jobs)
    good = [k for k in range(len(matrices)) if k not in (indefinite, crooked, missing)]
    check_matrices([matrices[k] for k in good], [places[k] for k in good], "kernel {}".format, n_jobs)


def test_negative_definite_matrix_is_refused():
    with pytest.raises(ValueError, match="not positive semidefinite"):
        check_matrix(-np.eye(4))


def test_nearest_psd_is_the_projection():
    symmetric = np.random.default_rng(0).normal(size=(12, 12))
    symmetric += symmetric.T
    before = symmetric.copy()
    nearest = nearest_psd(symmetric)
    values, vectors = np.linalg.eigh(symmetric)
    np.testing.assert_allclose(nearest, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-12)
    np.testing.assert_array_equal(symmetric, before)
    with pytest.raises(ValueError, match=r"K has shape \(2, 3\)"):
        nearest_psd(np.ones((2, 3)))
