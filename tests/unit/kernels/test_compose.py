"""Sums, products and kernels on some columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector

from polykern.kernels import (
    RBF,
    Function,
    HistogramIntersection,
    Linear,
    OnColumns,
    Polynomial,
    Precomputed,
    Product,
    Sum,
    base_block,
    peel,
    select_columns,
)

GENERATOR = np.random.default_rng(0)
X = GENERATOR.gamma(1.0, size=(30, 4))
Z = GENERATOR.gamma(1.0, size=(11, 4))
PARTS = [RBF(0.3), OnColumns(Polynomial(2), [0, -1]), HistogramIntersection()]


@pytest.mark.parametrize(("combined", "reduce"), [(Sum, np.sum), (Product, np.prod)])
def test_entry_by_entry(combined, reduce):
    kernel = combined(PARTS)
    expected = reduce([part.gram(X, Z) for part in PARTS], axis=0)
    np.testing.assert_allclose(kernel.gram(X, Z), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.block(X, Z), expected, rtol=1e-12)
    assert kernel.block(X, Z, np.float32).dtype == np.float32
    np.testing.assert_allclose(kernel.gram(X), reduce([part.gram(X) for part in PARTS], axis=0), rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel.gram(X)), rtol=1e-12)


def test_operators():
    a, b, c = RBF(1.0), Linear(), Polynomial(2)
    assert (a + b + c).kernels == [a, b, c]
    assert type(a * b) is Product and type((a + b) * c) is Product
    np.testing.assert_allclose(((a + b) * c).gram(X), (a.gram(X) + b.gram(X)) * c.gram(X))
    with pytest.raises(TypeError):
        a + 1


def test_parts_on_one_base_are_one_function_of_it():
    kernel = RBF(0.1) + RBF(2.0) * RBF(0.5)
    assert kernel.base == "squared_distance"
    block = base_block(kernel.base, X, Z)
    expected = kernel.gram(X, Z)
    before, out = block.copy(), np.empty_like(block)
    kernel.from_base(block, out)
    assert np.array_equal(block, before)
    np.testing.assert_allclose(out, expected)
    kernel.from_base(block, block)
    np.testing.assert_allclose(block, expected)
    assert (RBF(1.0) + Linear()).base is None


def test_nested_parameters_are_reached_and_clones_are_free():
    kernel = OnColumns(RBF(0.5), [1]) + Linear()
    copy = clone(kernel)
    copy.set_params(**{"0__kernel__gamma": 7.0})
    assert copy.get_params()["0__kernel__gamma"] == 7.0
    assert kernel.kernels[0].kernel.gamma == 0.5
    copy.set_params(**{"1": RBF(3.0)})
    assert copy.kernels[1].gamma == 3.0
    assert OnColumns(RBF(0.5), [1]).set_params(kernel__gamma=2.0).kernel.gamma == 2.0
    with pytest.raises(ValueError, match="Invalid parameter '5'"):
        copy.set_params(**{"5__gamma": 1.0})


def test_resolve_makes_new_objects_and_leaves_the_given_ones():
    kernel = RBF() + OnColumns(RBF("median"), [0])
    resolved = kernel.resolve(X)
    assert kernel.kernels[0].gamma == "scale" and not kernel.is_resolved
    assert resolved.is_resolved
    assert resolved.kernels[0].gamma == RBF().resolve(X).gamma
    assert resolved.kernels[1].kernel.gamma == RBF("median").resolve(X[:, :1]).gamma
    np.testing.assert_array_equal(kernel.gram(X), resolved.gram(X))
    with pytest.raises(ValueError, match="ambiguous"):
        kernel.gram(X, Z)
    with pytest.raises(ValueError, match="ambiguous"):
        OnColumns(RBF(), [0]).gram(X, Z)


@pytest.mark.parametrize("make", [pd.DataFrame, lambda data, columns: pl.DataFrame(data, schema=columns)])
@pytest.mark.parametrize("columns", [["b", "d"], slice("b", None, 2), [1, 3], [False, True, False, True]])
def test_columns_of_frames(make, columns):
    names = list("abcd")
    kernel, frame = OnColumns(RBF(0.5), columns), make(X, columns=names)
    expected = RBF(0.5).gram(X[:, [1, 3]], Z[:, [1, 3]])
    np.testing.assert_allclose(kernel.gram(frame, make(Z, columns=names)), expected)
    np.testing.assert_allclose(kernel.diag(frame), 1.0)
    resolved = kernel.resolve(frame)
    assert resolved.columns == [1, 3]
    np.testing.assert_allclose(resolved.block(X, Z), expected)


def test_columns_nobody_reads_may_hold_text():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(city="Rome")
    kernel = OnColumns(RBF(0.5), ["a"]) + OnColumns(Linear(), make_column_selector(dtype_include="number"))
    np.testing.assert_allclose(kernel.gram(frame), RBF(0.5).gram(X[:, :1]) + X @ X.T)
    np.testing.assert_allclose(kernel.resolve(frame).diag(frame), 1 + (X**2).sum(axis=1))


def test_a_callable_chooses_once_for_both_sides():
    kernel = OnColumns(Linear(), lambda table: [0] if len(table) == len(X) else [1])
    np.testing.assert_allclose(kernel.gram(X, Z), X[:, :1] @ Z[:, :1].T)


def test_names_find_their_columns_in_another_order():
    left, right = pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(Z, columns=list("abcd"))[list("dcba")]
    np.testing.assert_allclose(OnColumns(Linear(), ["a", "b"]).gram(left, right), X[:, :2] @ Z[:, :2].T)


def test_columns_within_columns():
    frame = pd.DataFrame(X, columns=list("abcd"))
    kernel = OnColumns(OnColumns(RBF(), ["d"]), ["b", "d"])
    np.testing.assert_allclose(kernel.gram(frame), RBF().gram(X[:, 3:]))
    inner, columns = peel(kernel.resolve(frame))
    assert columns == [3]
    np.testing.assert_allclose(inner.gram(select_columns(frame, columns)), kernel.gram(frame))
    assert peel(RBF(1.0))[1] is None


def test_indices_in_a_column():
    K = X @ X.T
    table = np.column_stack([np.arange(30.0), X])
    kernel = OnColumns(Precomputed(K), [0]) + OnColumns(RBF(1.0), slice(1, None))
    np.testing.assert_allclose(kernel.gram(table[::2], table), (K + RBF(1.0).gram(X))[::2])
    assert kernel.input_kind == "vectors"
    both = Precomputed(K) + Precomputed(K)
    assert both.input_kind == "indices"
    np.testing.assert_allclose(both.gram(np.arange(4)), 2 * K[:4, :4])


def test_a_sum_does_not_write_into_what_a_callable_returned():
    kept_matrix = np.ones((30, 30))
    kept = np.ones(30)
    kernel = Function(lambda a, b: kept_matrix[: len(a), : len(b)], diag=lambda a: kept[: len(a)]) + Linear()
    kernel.gram(X), kernel.diag(X)
    assert np.all(kept_matrix == 1.0) and np.all(kept == 1.0)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Sum([]), ValueError, "Sum: kernels is .*expected a list of at least one kernel"),
        (lambda: Product(RBF()), ValueError, "Product: kernels is"),
        (lambda: Sum([RBF(), "rbf"]), TypeError, r"Sum: kernels\[1\] is 'rbf', expected a kernel"),
        (lambda: OnColumns("rbf", [0]), TypeError, "OnColumns: kernel is 'rbf'"),
        (lambda: OnColumns(RBF(), [9]).gram(X), ValueError, "column 9 does not exist; X has 4 columns"),
        (lambda: OnColumns(RBF(), [9]).resolve(X), ValueError, "column 9 does not exist"),
    ],
)
def test_bad_compositions(make, error, message):
    with pytest.raises(error, match=message):
        make()
