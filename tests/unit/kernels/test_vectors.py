"""Kernels on vectors against scikit-learn and plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from polykern.kernels import (
    RBF,
    Chi2,
    Cosine,
    HistogramIntersection,
    Laplacian,
    Linear,
    Polynomial,
    base_block,
)

GENERATOR = np.random.default_rng(0)
X = GENERATOR.gamma(1.0, size=(90, 4))
Z = GENERATOR.gamma(1.0, size=(31, 4))

CASES = [
    (Linear(), pairwise.linear_kernel),
    (Polynomial(1, 0.0, 2.0), lambda a, b: 2.0 * a @ b.T),
    (Polynomial(2), lambda a, b: pairwise.polynomial_kernel(a, b, degree=2, gamma=1, coef0=1)),
    (Polynomial(7, 0.5, 0.3), lambda a, b: pairwise.polynomial_kernel(a, b, degree=7, gamma=0.3, coef0=0.5)),
    (RBF(0.7), lambda a, b: pairwise.rbf_kernel(a, b, gamma=0.7)),
    (RBF(0.7, scale_by=3.0), lambda a, b: pairwise.rbf_kernel(a, b, gamma=2.1)),
    (Laplacian(0.4), lambda a, b: pairwise.laplacian_kernel(a, b, gamma=0.4)),
    (Chi2(0.6), lambda a, b: pairwise.chi2_kernel(a, b, gamma=0.3)),
    (HistogramIntersection(), lambda a, b: np.minimum(a[:, None], b[None]).sum(axis=2)),
    (Cosine(), pairwise.cosine_similarity),
]
KERNELS = [kernel for kernel, _ in CASES]


@pytest.mark.parametrize(("kernel", "expected"), CASES, ids=[repr(kernel) for kernel in KERNELS])
def test_gram_equals_the_formula(kernel, expected):
    np.testing.assert_allclose(kernel.gram(X, Z), expected(X, Z), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel.gram(X), expected(X, X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_diagonal_equals_that_of_the_gram_matrix(kernel):
    data = np.vstack([X, np.zeros((1, 4))])
    np.testing.assert_allclose(kernel.diag(data), np.diagonal(kernel.gram(data, data.copy())), atol=1e-12)
    assert np.array_equal(np.diagonal(kernel.gram(data)), kernel.diag(data))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_float32_data_give_float32_close_to_float64(kernel):
    single = kernel.gram(X.astype(np.float32), Z.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, kernel.gram(X, Z), rtol=2e-5, atol=1e-6)
    assert kernel.gram(X.astype(np.float32), Z).dtype == np.float64


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_many_row_blocks_equal_one_block(kernel):
    wide = GENERATOR.gamma(1.0, size=(1100, 4))
    np.testing.assert_allclose(kernel.gram(wide), kernel.block(wide, wide), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_from_base_in_place_and_elsewhere(kernel):
    block = base_block(kernel.base, X, Z)
    before, out = block.copy(), np.full(block.shape, np.nan)
    kernel.from_base(block, out)
    assert np.array_equal(block, before)
    kernel.from_base(block, block)
    assert np.array_equal(block, out)


@pytest.mark.parametrize("kernel", [*KERNELS, RBF(), Laplacian(), Chi2(), Polynomial(gamma="scale")], ids=repr)
def test_gram_matrices_are_positive_semidefinite_and_kernels_are_not_mutated(kernel):
    before = kernel.get_params()
    eigenvalues = np.linalg.eigvalsh(kernel.gram(X))
    assert eigenvalues[0] >= -1e-10 * eigenvalues[-1]
    assert kernel.get_params() == before == clone(kernel).get_params()


def pairs(distance):
    return np.array([distance(X[i], X[j]) for i in range(len(X)) for j in range(i + 1, len(X))])


def squared(x, z):
    return ((x - z) ** 2).sum()


def test_scale_is_that_of_scikit_learn():
    y = X[:, 0] > 1
    theirs = SVC(kernel="rbf", gamma="scale").fit(X, y)._gamma
    assert RBF("scale").resolve(X).gamma == pytest.approx(theirs, rel=1e-12)
    assert Polynomial(gamma="scale").resolve(X).gamma == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize(
    ("kernel", "distance"),
    [
        (RBF, squared),
        (Laplacian, lambda x, z: np.abs(x - z).sum()),
        (Chi2, lambda x, z: 0.5 * ((x - z) ** 2 / (x + z)).sum()),
    ],
)
def test_mean_and_median_widths_are_those_of_all_pairs(kernel, distance):
    distances = pairs(distance)
    assert kernel("mean").resolve(X).gamma == pytest.approx(1 / distances.mean(), rel=1e-10)
    assert kernel("median").resolve(X).gamma == pytest.approx(1 / np.median(distances), rel=1e-10)
    scaled = kernel("mean", scale_by=4.0).resolve(X)
    assert (scaled.gamma, scaled.scale_by) == (pytest.approx(4 / distances.mean()), 1.0)


def test_chi2_without_gamma_is_the_mean_rule():
    assert Chi2().resolve(X).gamma == Chi2("mean").resolve(X).gamma
    np.testing.assert_array_equal(Chi2(scale_by=2.0).gram(X), Chi2("mean", scale_by=2.0).gram(X))


def test_median_of_many_rows_is_sampled_the_same_way_every_time():
    many = np.random.default_rng(1).normal(size=(2600, 2))
    gamma = RBF("median").resolve(many).gamma
    assert gamma == RBF("median").resolve(many).gamma
    everything = base_block("squared_distance", many, many)[np.triu_indices(2600, 1)]
    assert gamma == pytest.approx(1 / np.median(everything), rel=0.05)


def test_median_where_most_pairs_are_equal_is_over_those_that_differ():
    mostly_zero = np.zeros((50, 1))
    mostly_zero[:5, 0] = 2.0
    assert RBF("median").resolve(mostly_zero).gamma == 0.25


@pytest.mark.parametrize("rule", ["scale", "mean", "median"])
@pytest.mark.parametrize("data", [np.full((5, 2), 3.0), np.ones((1, 1))])
def test_data_without_spread_give_gamma_one(rule, data):
    kernel = RBF(rule)
    assert kernel.resolve(data).gamma == 1.0
    assert np.all(kernel.gram(data) == 1.0)


def test_from_sigma():
    assert RBF.from_sigma(0.5).gamma == 2.0
    with pytest.raises(ValueError, match="sigma is 0, expected a number > 0"):
        RBF.from_sigma(0)


def test_widths_of_the_data_need_to_be_fixed_before_new_data_come():
    with pytest.raises(ValueError, match=r"gram\(X, Z\) is ambiguous.*resolve\(X_train\)"):
        RBF().gram(X, Z)
    with pytest.raises(ValueError, match="call kernel.resolve"):
        RBF().from_base(np.ones((2, 2)), np.ones((2, 2)))
    np.testing.assert_array_equal(RBF().resolve(X).gram(X), RBF().gram(X))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Polynomial(0), ValueError, "degree is 0, expected a whole number >= 1"),
        (lambda: Polynomial(1.5), TypeError, "degree is 1.5, expected a whole number"),
        (lambda: Polynomial(True), TypeError, "degree is True"),
        (lambda: Polynomial(2, -1.0), ValueError, "coef0 is -1.0, expected a number >= 0"),
        (lambda: Polynomial(2, "a"), TypeError, "coef0 is 'a'"),
        (lambda: Polynomial(2, gamma="median"), ValueError, 'expected a number > 0 or "scale"'),
        (lambda: RBF(0), ValueError, 'RBF: gamma is 0, expected a number > 0 or "scale" or "mean" or "median"'),
        (lambda: RBF(-1.0), ValueError, "RBF: gamma is -1.0"),
        (lambda: RBF(np.nan), ValueError, "RBF: gamma is nan"),
        (lambda: RBF(np.inf), ValueError, "RBF: gamma is inf"),
        (lambda: RBF("auto"), ValueError, "RBF: gamma is 'auto'"),
        (lambda: RBF(None), TypeError, "RBF: gamma is None"),
        (lambda: RBF(scale_by=0.0), ValueError, "RBF: scale_by is 0.0"),
        (lambda: Laplacian("scale"), ValueError, "Laplacian: gamma is 'scale'"),
        (lambda: Chi2(-2.0), ValueError, "Chi2: gamma is -2.0"),
        (lambda: Chi2(scale_by="x"), ValueError, "Chi2: scale_by is 'x'"),
    ],
)
def test_bad_parameters_are_refused_at_once(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_bad_parameters_set_later_are_refused_on_use():
    kernel = RBF().set_params(gamma=-1.0)
    with pytest.raises(ValueError, match="gamma is -1.0"):
        kernel.resolve(X)
    with pytest.raises(ValueError, match="gamma is -1.0"):
        kernel.gram(X)


@pytest.mark.parametrize("kernel", [Chi2(), Chi2(1.0), HistogramIntersection()], ids=repr)
def test_histogram_kernels_refuse_negative_features(kernel):
    for call in (kernel.resolve, kernel.gram, kernel.diag):
        with pytest.raises(
            ValueError, match=f"{type(kernel).__name__} needs features >= 0, but feature 0 is -1 in row 2"
        ):
            call(np.array([[0.0], [1.0], [-1.0]]))


def test_bad_data():
    with pytest.raises(ValueError, match=r"X has shape \(3,\), expected a table"):
        Linear().gram(np.ones(3))
    with pytest.raises(ValueError, match="X: column 1 is nan in row 0"):
        RBF(1.0).gram(np.array([[0.0, np.nan]]))
    with pytest.raises(ValueError, match="Z: column 0 is inf in row 0"):
        RBF(1.0).gram(np.ones((1, 1)), np.array([[np.inf]]))
    with pytest.raises(ValueError, match="X has 4 features and Z has 3"):
        Linear().gram(X, Z[:, :3])


def test_entry_costs_grow_with_the_features():
    for kernel in KERNELS:
        assert 0 < kernel.entry_cost(2) < kernel.entry_cost(200)
