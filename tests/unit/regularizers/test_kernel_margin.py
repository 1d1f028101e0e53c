"""The multi-class kernel margin, its cuts and its least value, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.kernel_margin import differences_by_loops, margins_by_loops
from oracles.mkl_cases import random_kernels
from polykern.bank import build_bank
from polykern.kernels import Precomputed
from polykern.regularizers import kernel_margin
from polykern.regularizers.kernel_margin import KernelMargin

CLASSES = {
    "two": [0, 1, 0, 0, 1, 1, 0, 0, 1, 0],
    "three": [2, 0, 1, 1, 0, 2, 2, 2, 1, 0],
    "one member each": [3, 0, 1, 2, 4, 5, 9, 8, 7, 6],
    "a class of one": [0, 1, 1, 0, 2, 1, 0, 0, 1, 1],
}


@pytest.fixture(params=CLASSES, ids=CLASSES)
def case(request):
    """(margin, eta, y) of six kernels."""
    y = np.array(CLASSES[request.param])
    kernels = random_kernels(len(y), 6, seed=len(request.param))
    return margin_of(kernels, y), differences_by_loops(kernels, y), y


def margin_of(kernels, y, dtype="float64"):
    bank = build_bank([Precomputed(K) for K in kernels], np.arange(len(y)), normalize=None, dtype=dtype)
    return KernelMargin(bank, y)


def weightings(n_kernels, seed=0):
    """Weights inside the simplex, on its border (few and many kernels) and of other sums."""
    rng = np.random.default_rng(seed)
    dense = rng.dirichlet(np.ones(n_kernels), size=4)
    return [*dense, *np.eye(n_kernels), 3.7 * dense[0] * (np.arange(n_kernels) < 4)]


def test_the_differences_are_those_of_class_means(case):
    margin, eta, y = case
    assert np.all(np.isposinf(margin.differences[:, np.arange(len(y)), y]))
    others = np.arange(eta.shape[2]) != y[:, np.newaxis]
    np.testing.assert_allclose(margin.differences[:, others], eta[:, others], atol=1e-12)


def test_margins_of_samples_and_their_mean(case):
    margin, eta, y = case
    for weights in weightings(len(eta)):
        expected = margins_by_loops(eta, y, weights)
        np.testing.assert_allclose(margin.of_samples(weights), expected, atol=1e-12)
        assert margin.mean(weights) == pytest.approx(expected.mean(), abs=1e-12)


def test_a_cut_touches_at_its_weights_and_is_above_everywhere(case):
    margin, eta, y = case
    for weights in weightings(len(eta)):
        value, slope = margin.cut(weights)
        assert value == pytest.approx(margins_by_loops(eta, y, weights).mean(), abs=1e-12)
        assert slope @ weights == pytest.approx(value, abs=1e-12)
        for others in weightings(len(eta), seed=1):
            assert margin.mean(others) <= slope @ others + 1e-12


def test_the_smallest_margin_and_its_cut(case):
    margin, eta, y = case
    for weights in weightings(len(eta)):
        value, slope = margin.minimum(weights)
        assert value == pytest.approx(margins_by_loops(eta, y, weights).min(), abs=1e-12)
        assert slope @ weights == pytest.approx(value, abs=1e-12)
        for others in weightings(len(eta), seed=1):
            assert margin.minimum(others)[0] <= slope @ others + 1e-12


def test_means_of_many_classes_are_read_off_the_rows_of_each(monkeypatch):
    y = np.random.default_rng(0).permutation(np.arange(75) % 25)
    kernels = random_kernels(75, 3, seed=0)
    expected = differences_by_loops(kernels, y)
    for entries in (kernel_margin._BLOCK_ENTRIES, 3 * 75 * 2):
        monkeypatch.setattr(kernel_margin, "_BLOCK_ENTRIES", entries)
        found = margin_of(kernels, y).differences
        found[:, np.arange(75), y] = 0.0
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_kernels_in_float32():
    y = np.array(CLASSES["three"])
    kernels = [K.astype(np.float32) for K in random_kernels(len(y), 4, seed=3)]
    margin = margin_of(kernels, y, "float32")
    expected = differences_by_loops([K.astype(np.float64) for K in kernels], y)
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    assert margin.of_samples(weights).dtype == np.float64
    np.testing.assert_allclose(margin.of_samples(weights), margins_by_loops(expected, y, weights), atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*is zero or constant")
def test_a_kernel_that_is_zero_has_no_margin():
    y = np.array(CLASSES["two"])
    K = random_kernels(len(y), 1, seed=0)[0]
    margin = margin_of([K, np.zeros_like(K)], y)
    assert not margin.of_samples(np.array([0.0, 1.0])).any()
    assert margin.cut(np.array([0.5, 0.5]))[1][1] == 0.0


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (np.zeros(4, dtype=int), "y has one class, expected two or more"),
        (np.array([0.5, 1.0, 0.0, 1.0]), "y is of type float64, expected integers"),
        (np.array([0, 1, 0]), r"y has shape \(3,\), expected \(4,\)"),
        (np.array([0, 2, 0, 2]), r"y has no sample of class 1, expected classes 0 \.\. 2"),
        (np.array([0, -1, 0, 1]), "y has the class -1"),
    ],
)
def test_labels_that_are_no_classes(y, sentence):
    kernels = random_kernels(4, 2, seed=0)
    with pytest.raises(ValueError, match=sentence):
        margin_of_any(kernels, y)


def margin_of_any(kernels, y):
    return KernelMargin(build_bank([Precomputed(K) for K in kernels], np.arange(4), normalize=None), y)
