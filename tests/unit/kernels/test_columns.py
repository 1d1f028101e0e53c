"""Choosing columns of arrays and of pandas and polars frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.compose import make_column_selector

from polykern.kernels import select_columns
from polykern.kernels.columns import take_columns

VALUES = np.arange(20.0).reshape(5, 4)
NAMES = ["age", "height", "weight", "city size"]
PANDAS = pd.DataFrame(VALUES, columns=NAMES)
POLARS = pl.DataFrame(VALUES, schema=NAMES)
TABLES = [VALUES, PANDAS, POLARS]

CHOICES = [
    (None, [0, 1, 2, 3]),
    (2, [2]),
    (-1, [3]),
    ([3, 0], [3, 0]),
    ([-1, 1], [3, 1]),
    (np.array([1, 2]), [1, 2]),
    ((0, 2), [0, 2]),
    (slice(1, 3), [1, 2]),
    (slice(None, None, 2), [0, 2]),
    (slice(-2, None), [2, 3]),
    ([True, False, False, True], [0, 3]),
    (np.array([False, True, False, False]), [1]),
    (lambda table: [0, -1], [0, 3]),
]
NAMED = [
    ("height", [1]),
    (["weight", "age"], [2, 0]),
    (pd.Index(["age", "city size"]), [0, 3]),
    (slice("height", "weight"), [1, 2]),
    (slice("weight", None), [2, 3]),
]


@pytest.mark.parametrize("table", TABLES, ids=["numpy", "pandas", "polars"])
@pytest.mark.parametrize(("columns", "expected"), CHOICES)
def test_positions_slices_masks_and_callables(table, columns, expected):
    chosen = select_columns(table, columns)
    assert type(chosen) is np.ndarray
    np.testing.assert_array_equal(chosen, VALUES[:, expected])


@pytest.mark.parametrize("table", [PANDAS, POLARS], ids=["pandas", "polars"])
@pytest.mark.parametrize(("columns", "expected"), NAMED)
def test_names(table, columns, expected):
    np.testing.assert_array_equal(select_columns(table, columns), VALUES[:, expected])
    taken = take_columns(table, columns)
    assert type(taken) is type(table)
    assert list(taken.columns) == [NAMES[k] for k in expected]


def test_selectors_of_scikit_learn():
    frame = PANDAS.assign(name=list("abcde"))
    np.testing.assert_array_equal(select_columns(frame, make_column_selector(dtype_include="number")), VALUES)
    np.testing.assert_array_equal(select_columns(frame, make_column_selector(pattern="eight")), VALUES[:, 1:3])


def test_float_arrays_are_not_copied_where_they_need_not_be():
    assert select_columns(VALUES) is VALUES
    assert np.shares_memory(select_columns(VALUES, [1, 2]), VALUES)
    assert np.shares_memory(select_columns(VALUES, slice(0, 2)), VALUES)


def test_types_of_numbers():
    assert select_columns(VALUES.astype(np.float32)).dtype == np.float32
    assert select_columns(PANDAS.astype(np.float32)).dtype == np.float32
    for dtype in (np.int32, np.float16, bool, object):
        assert select_columns(VALUES.astype(dtype)).dtype == np.float64
    assert select_columns([[1, 2], [3, 4]]).dtype == np.float64
    mixed = pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": [True, False], "c": [0.5, 1.5]})
    np.testing.assert_array_equal(select_columns(mixed), [[1, 1, 0.5], [2, 0, 1.5]])


@pytest.mark.parametrize(
    ("table", "columns", "error", "message"),
    [
        (VALUES, 4, ValueError, "kernel 1: column 4 does not exist; X has 4 columns, positions 0 to 3"),
        (VALUES, [0, -5], ValueError, "column -5 does not exist"),
        (VALUES, "age", ValueError, "column 'age' is asked for by name, but X is an array without names"),
        (
            PANDAS,
            ["Height"],
            ValueError,
            "column 'Height' does not exist; X has .*mean 'height'",
        ),
        (POLARS, ["zzz"], ValueError, "column 'zzz' does not exist"),
        (PANDAS, slice("zzz", None), ValueError, "column 'zzz' does not exist"),
        (VALUES, [], ValueError, "selects no column"),
        (VALUES, slice(2, 2), ValueError, "selects no column"),
        (VALUES, [False] * 4, ValueError, "selects no column"),
        (VALUES, [True, False], ValueError, "the boolean mask of columns has 2 entries, but X has 4 columns"),
        (PANDAS, ["age", 1], TypeError, "mixes kinds"),
        (VALUES, 1.5, TypeError, "columns is 1.5, expected positions"),
        (VALUES, [1.5], TypeError, "mixes kinds"),
    ],
)
def test_wrong_columns(table, columns, error, message):
    with pytest.raises(error, match=message):
        select_columns(table, columns, "kernel 1")


def test_long_lists_of_names_are_cut():
    wide = pd.DataFrame(np.zeros((1, 50)), columns=[f"f{k}" for k in range(50)])
    with pytest.raises(ValueError, match="'f19' and 30 more"):
        select_columns(wide, "g")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_text_and_dates_are_refused_not_parsed(make):
    frame = make({"a": [1.0, 2.0], "digits": ["1", "2"]})
    np.testing.assert_array_equal(select_columns(frame, "a"), [[1.0], [2.0]])
    with pytest.raises(ValueError, match="kernel 0: column 'digits' holds text.*leave it out with `columns`"):
        select_columns(frame, None, "kernel 0")
    dates = make({"day": np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[ns]")})
    with pytest.raises(ValueError, match="column 'day' holds dates"):
        select_columns(dates)


def test_text_in_arrays_is_refused():
    with pytest.raises(ValueError, match="column 1 holds text"):
        select_columns(np.array([[1, "2"]], dtype=object))
    with pytest.raises(ValueError, match="column 0 holds complex numbers"):
        select_columns(np.ones((2, 2), dtype=complex))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite_is_named(bad):
    frame = PANDAS.copy()
    frame.loc[2, "weight"] = bad
    with pytest.raises(ValueError, match=rf"kernel 2 \('x'\): column 'weight' is {bad} in row 2, .*finite"):
        select_columns(frame, ["age", "weight"], "kernel 2 ('x')")
    select_columns(frame, ["age"])
    with pytest.raises(ValueError, match=f"column 2 is {bad} in row 2"):
        select_columns(frame.to_numpy(), [1, 2])


def test_missing_values_of_frames():
    with pytest.raises(ValueError, match="column 'a'"):
        select_columns(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}))
    with pytest.raises(ValueError, match="column 'a' is nan in row 1"):
        select_columns(pl.DataFrame({"a": [1, None]}))


def test_wrong_tables():
    with pytest.raises(ValueError, match=r"shape \(3,\), expected a table .*reshape"):
        select_columns(np.ones(3))
    with pytest.raises(TypeError, match=r"sparse matrix.*toarray\(\)"):
        select_columns(scipy.sparse.csr_array(np.eye(3)))
