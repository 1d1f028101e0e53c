"""Normalizers against explicit formulas on dense matrices and scikit-learn's KernelCenterer."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import KernelCenterer

from polykern.kernels import RBF, Polynomial, normalizer

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(60, 3)) + 1.0
NEW = GENERATOR.normal(size=(17, 3))
KERNEL = Polynomial(2)
K = KERNEL.gram(X)
K_NEW = KERNEL.gram(NEW, X)
DIAG_NEW = KERNEL.diag(NEW)
NAMES = ["mean-diagonal", "trace", "diagonal", "center", "center-diagonal", None]


def oracle(name):
    """(training matrix, matrix of new against training samples), normalized by the textbook."""
    if name in ("mean-diagonal", "trace"):
        total = np.trace(K) / (len(K) if name == "mean-diagonal" else 1)
        return K / total, K_NEW / total
    if name == "diagonal":
        lengths, new_lengths = np.sqrt(np.diagonal(K)), np.sqrt(DIAG_NEW)
        return K / np.outer(lengths, lengths), K_NEW / np.outer(new_lengths, lengths)
    if name is None:
        return K, K_NEW
    centerer = KernelCenterer().fit(K)
    centred, centred_new = centerer.transform(K), centerer.transform(K_NEW)
    if name == "center":
        return centred, centred_new
    lengths = np.sqrt(np.diagonal(centred))
    new_lengths = np.sqrt(DIAG_NEW - 2 * K_NEW.mean(axis=1) + K.mean())
    return centred / np.outer(lengths, lengths), centred_new / np.outer(new_lengths, lengths)


def fitted(name, matrix=K):
    rule = normalizer(name)
    return rule.fit(np.diagonal(matrix), matrix.mean(axis=1) if rule.needs_row_means else None)


@pytest.mark.parametrize("name", NAMES)
def test_training_and_new_data(name):
    fit, (expected, expected_new) = fitted(name), oracle(name)
    everything = slice(None)
    np.testing.assert_allclose(fit.apply(K.copy(), everything, everything), expected, atol=1e-10)
    shift, factor = fit.new_terms(DIAG_NEW, K_NEW.mean(axis=1))
    np.testing.assert_allclose(fit.apply_new(K_NEW.copy(), shift, factor), expected_new, atol=1e-10)
    np.testing.assert_allclose(fit.diag(np.diagonal(K)), np.diagonal(expected), atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_formula_of_the_contract(name):
    fit, (expected, _) = fitted(name), oracle(name)
    shift = np.zeros(60) if fit.shift is None else fit.shift
    factor = np.ones(60) if fit.factor is None else fit.factor
    value = fit.scale * factor[:, None] * factor * (K - shift[:, None] - shift + fit.offset)
    np.testing.assert_allclose(value, expected, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_are_normalized_in_place_at_indices_and_slices(name, dtype):
    fit, (expected, _) = fitted(name), oracle(name)
    rows, cols = np.array([4, 59, 0]), slice(10, 33)
    block = K[rows][:, cols].astype(dtype)
    result = fit.apply(block, rows, cols)
    assert result is block and block.dtype == dtype
    np.testing.assert_allclose(block, expected[rows][:, cols], atol=1e-10 if dtype == np.float64 else 1e-4)
    np.testing.assert_allclose(fit.diag(np.diagonal(K)[rows], rows), np.diagonal(expected)[rows], atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_some_training_samples_keep_the_terms_of_all(name):
    fit, (_, expected_new) = fitted(name), oracle(name)
    kept = np.array([50, 3, 21])
    some = fit.take(kept)
    assert (some.scale, some.offset) == (fit.scale, fit.offset)
    terms = some.new_terms(DIAG_NEW, K_NEW.mean(axis=1))
    np.testing.assert_allclose(some.apply_new(K_NEW[:, kept], *terms), expected_new[:, kept], atol=1e-10)
    terms = fit.new_terms(DIAG_NEW, K_NEW.mean(axis=1))
    np.testing.assert_allclose(fit.apply_new(K_NEW[:, kept], *terms, cols=kept), expected_new[:, kept], atol=1e-10)


def test_what_the_names_promise():
    everything = slice(None)
    value = {name: fitted(name).apply(K.copy(), everything, everything) for name in NAMES}
    assert np.diagonal(value["mean-diagonal"]).mean() == pytest.approx(1.0)
    assert np.trace(value["trace"]) == pytest.approx(1.0)
    for name in ("diagonal", "center-diagonal"):
        np.testing.assert_allclose(np.diagonal(value[name]), 1.0)
    np.testing.assert_allclose(value["center"].mean(axis=0), 0.0, atol=1e-10)
    assert {name for name in NAMES if normalizer(name).needs_row_means} == {"center", "center-diagonal"}


@pytest.mark.parametrize("name", NAMES)
def test_zero_kernels_are_flagged_and_contribute_nothing(name):
    fit = fitted(name, np.zeros((5, 5)))
    assert fit.is_null and fit.scale == 0.0
    block = np.full((2, 5), np.nan)
    assert np.all(fit.apply(block, slice(0, 2), slice(None)) == 0.0)
    shift, factor = fit.new_terms(np.ones(3), np.zeros(3))
    assert np.all(fit.apply_new(np.ones((3, 5)), shift, factor) == 0.0)
    assert np.all(fit.diag(np.ones(5)) == 0.0)
    assert fit.take([0]).is_null


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0.1, 3.0, 1e9])
def test_constant_kernels_vanish_when_they_are_centred(name, value):
    fit = fitted(name, np.full((7, 7), value))
    assert fit.is_null == (name in ("center", "center-diagonal"))


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("name", NAMES)
def test_small_and_large_kernels_are_not_taken_for_zero(name, scale):
    assert not fitted(name, scale * K).is_null


def test_null_up_to_float32_rounding():
    almost = np.full(10, 2.0) + 1e-7 * GENERATOR.normal(size=10)
    assert normalizer("center").fit(almost, np.full(10, 2.0), resolution=1e-5).is_null
    assert not normalizer("center").fit(almost, np.full(10, 2.0)).is_null


@pytest.mark.parametrize("name", ["diagonal", "center-diagonal"])
def test_single_samples_without_length_get_the_factor_zero(name):
    data = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    matrix = data @ data.T
    fit = fitted(name, matrix)
    assert fit.factor[2] == 0.0 and np.all(fit.factor[[0, 1, 3, 4]] > 0)
    value = fit.apply(matrix.copy(), slice(None), slice(None))
    assert np.all(value[2] == 0.0) and np.isfinite(value).all()
    shift, factor = fit.new_terms(np.array([0.0, 4.0]), np.zeros(2))
    assert factor[0] == 0.0 and factor[1] == pytest.approx(0.5)


def test_one_sample():
    one = RBF(1.0).gram(np.ones((1, 2)))
    assert fitted("center", one).is_null
    assert fitted("trace", one).scale == 1.0


def test_wide_blocks_go_through_several_tiles():
    wide = GENERATOR.normal(size=(700, 4))
    matrix = wide @ wide.T
    np.testing.assert_allclose(
        fitted("center", matrix).apply(matrix.copy(), slice(None), slice(None)),
        KernelCenterer().fit_transform(matrix),
        atol=1e-9,
    )


def test_bad_input():
    with pytest.raises(ValueError, match='expected "mean-diagonal", "trace".*or None. Did you mean'):
        normalizer("traces")
    with pytest.raises(TypeError, match="normalize is 3"):
        normalizer(3)
    with pytest.raises(ValueError, match="row_means is None"):
        normalizer("center").fit(np.ones(3))
    with pytest.raises(ValueError, match=r"kernel 2 has the value -1 for sample 1 with itself"):
        normalizer("trace").fit(np.array([1.0, -1.0]), label="kernel 2")
    with pytest.raises(ValueError, match="has the value nan for sample 0"):
        normalizer("diagonal").fit(np.array([np.nan, 1.0]))
    with pytest.raises(ValueError, match="means is None.*all training samples"):
        fitted("center").new_terms(DIAG_NEW)
    with pytest.raises(ValueError, match="diag is None"):
        fitted("diagonal").new_terms(None)
    with pytest.raises(ValueError, match="factor is None"):
        fitted("diagonal").apply_new(K_NEW.copy(), None, None)
