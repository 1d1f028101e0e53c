"""Compiled passes over matrices in memory, against plain loops: products with a vector, mirrored triangles."""

from __future__ import annotations

import numpy as np
import pytest

from polykern.bank import sweep
from polykern.bank.sweep import SHORT_ROWS, SQUARE, Matrices, mirror_upper, multiply


def symmetric(n_kernels, n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.standard_normal((n_kernels, n, n)))
    return (upper + np.triu(upper, 1).transpose(0, 2, 1)).astype(dtype)


def by_loops(matrices, vector):
    """Every row times the vector, in float64."""
    out = np.zeros((len(matrices), len(vector)))
    for k, matrix in enumerate(matrices):
        for i, row in enumerate(matrix):
            out[k, i] = sum(float(entry) * number for entry, number in zip(row, vector, strict=True))
    return out


def assert_products(found, matrices, vector):
    assert found.dtype == np.float64 and found.shape == (len(matrices), len(vector))
    np.testing.assert_allclose(found, by_loops(matrices, vector), rtol=0, atol=1e-11)


# -- products --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 31, 66])
def test_products_by_rows_and_by_triangles(n, dtype, monkeypatch):
    """Fours of rows, and what is left of them; both ways give the same at any size."""
    matrices, vector = symmetric(3, n, dtype), np.random.default_rng(1).standard_normal(n)
    some = Matrices.of(matrices, 0, n)
    for short_rows in (n + 1, n):
        monkeypatch.setattr(sweep, "SHORT_ROWS", short_rows)
        assert_products(multiply(some, vector, 1), matrices, vector)


@pytest.mark.parametrize("n", [SHORT_ROWS - 1, SHORT_ROWS, SHORT_ROWS + 3])
def test_products_on_both_sides_of_short_rows(n):
    """In pieces: more entries than one piece takes."""
    matrices, vector = symmetric(2, n, np.float32), np.random.default_rng(1).standard_normal(n)
    assert matrices.size > sweep.SMALL
    assert_products(multiply(Matrices.of(matrices, 0, n), vector, 2), matrices, vector)


@pytest.mark.parametrize("pieces", [2, 3, 8])
@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize("n", [3, 37, 50])
def test_pieces_add_up_whatever_the_threads(n, by_rows, pieces, monkeypatch):
    monkeypatch.setattr(sweep, "SMALL", 0)
    monkeypatch.setattr(sweep, "PIECES", pieces)
    monkeypatch.setattr(sweep, "SHORT_ROWS", 1000 if by_rows else 0)
    matrices, vector = symmetric(5, n, np.float64), np.random.default_rng(2).standard_normal(n)
    some = Matrices.of(matrices, 0, n)
    one, two = multiply(some, vector, 1), multiply(some, vector, 2)
    assert_products(one, matrices, vector)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("span", [(0, 9), (2, 3), (3, 17), (5, 21), (20, 21), (7, 7)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_span_gives_its_share(span, dtype):
    """Rows alone by rows; by triangles the rows right of the diagonal, and what they say below it."""
    matrices, vector = symmetric(2, 21, dtype), np.random.default_rng(3).standard_normal(21)
    place, inside = Matrices.of(matrices, 0, 21).place, slice(*span)
    rows = np.full((2, 21), 7.0)
    sweep._multiply_rows(place, vector, span, rows)
    expected = np.full((2, 21), 7.0)
    expected[:, inside] = by_loops(matrices, vector)[:, inside]
    np.testing.assert_allclose(rows, expected, atol=1e-12)
    shares = np.zeros((2, 21))
    sweep._multiply_triangle(place, vector, span, shares)
    expected = np.zeros((2, 21))
    for k, matrix in enumerate(matrices):
        for i in range(*span):
            expected[k, i] += float(matrix[i, i]) * vector[i]
            for j in range(i + 1, 21):
                expected[k, i] += float(matrix[i, j]) * vector[j]
                expected[k, j] += float(matrix[i, j]) * vector[i]
    np.testing.assert_allclose(shares, expected, atol=1e-12)


@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize(("start", "n"), [(0, 20), (1, 19), (5, 11), (19, 1)])
def test_products_of_some_of_the_samples(start, n, by_rows, monkeypatch):
    monkeypatch.setattr(sweep, "SHORT_ROWS", 1000 if by_rows else 0)
    matrices, vector = symmetric(4, 20, np.float32), np.random.default_rng(4).standard_normal(n)
    inner = matrices[:, start : start + n, start : start + n]
    some = Matrices.of(matrices, start, n)
    assert_products(multiply(some, vector, 1), inner, vector)
    wanted = np.array([3, 1])
    assert_products(multiply(some.take(wanted), vector, 1), inner[wanted], vector)


def test_products_read_the_upper_triangle_only(monkeypatch):
    monkeypatch.setattr(sweep, "SHORT_ROWS", 0)
    matrices, vector = symmetric(1, 30, np.float64), np.ones(30)
    expected = by_loops(matrices, vector)
    matrices[0][np.tril_indices(30, -1)] = np.nan
    np.testing.assert_allclose(multiply(Matrices.of(matrices, 0, 30), vector, 1), expected, atol=1e-12)


@pytest.mark.parametrize("by_rows", [True, False])
def test_products_show_what_is_not_a_number(by_rows, monkeypatch):
    """Where the vector is zero too: a kernel that is broken is never passed over."""
    monkeypatch.setattr(sweep, "SHORT_ROWS", 1000 if by_rows else 0)
    matrices = symmetric(2, 13, np.float64)
    matrices[1, 3, 8] = matrices[1, 8, 3] = np.nan
    found = multiply(Matrices.of(matrices, 0, 13), np.zeros(13), 1)
    assert np.isfinite(found[0]).all() and np.isnan(found[1, [3, 8]]).all()


# -- mirroring -------------------------------------------------------------------------------------------------

ODD_SIZES = [1, 2, 5, SQUARE - 1, SQUARE, SQUARE + 1, 3 * SQUARE + 5]


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", ODD_SIZES)
def test_what_is_above_the_diagonal_is_below_it(n, dtype, pieces, monkeypatch):
    monkeypatch.setattr(sweep, "SMALL", 0 if pieces > 1 else 1 << 18)
    monkeypatch.setattr(sweep, "PIECES", pieces)
    matrix = np.random.default_rng(n).standard_normal((n, n)).astype(dtype)
    upper = np.triu(matrix)
    matrix[np.tril_indices(n, -1)] = np.nan  # never read
    assert mirror_upper(matrix, 2)
    np.testing.assert_array_equal(matrix, upper + np.triu(upper, 1).T)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", ODD_SIZES)
def test_any_entry_that_is_not_finite_is_found_and_mirrored(n, bad):
    rng = np.random.default_rng(n)
    for i, j in {(0, 0), (0, n - 1), (n - 1, n - 1), tuple(np.sort(rng.integers(n, size=2)))}:
        matrix = np.ones((n, n))
        matrix[i, j] = bad
        assert not mirror_upper(matrix, 1)
        np.testing.assert_array_equal(matrix[j, i], bad)
        assert np.isfinite(matrix).sum() == n * n - (1 if i == j else 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_finite_is_seen_of_the_rows_of_a_span_right_of_the_diagonal(dtype):
    matrix = np.ones((9, 9), dtype)
    matrix[2, 6], matrix[7, 1] = np.nan, np.inf
    assert not sweep._is_finite(matrix, (2, 3)) and not sweep._is_finite(matrix, (0, 9))
    assert sweep._is_finite(matrix, (0, 2)) and sweep._is_finite(matrix, (3, 9))


def test_both_infinities_in_a_row_are_found():
    """They do not cancel."""
    matrix = np.ones((6, 6))
    matrix[1, 3], matrix[1, 4] = np.inf, -np.inf
    assert not sweep._is_finite(matrix, (1, 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_numbers_are_finite(dtype):
    """Their sum is not."""
    matrix = np.full((20, 20), np.finfo(dtype).max)
    assert sweep._is_finite(matrix, (0, 20))
