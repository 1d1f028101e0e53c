"""What goes through `jit` is compiled on first call only, safe with NaN, and free of the GIL."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polykern._jit import SAFE_FAST_MATH, jit


def total(values):
    result = 0.0
    for value in values:
        result += value
    return result


def is_nan(value):
    return value != value  # fast-math that assumes no NaN would fold this to False


def ratio(numerator, denominator):
    return numerator / denominator


def test_nothing_is_compiled_before_the_first_call():
    compiled = jit(total)
    assert compiled.signatures == []
    assert compiled(np.arange(5.0)) == pytest.approx(10.0)
    assert len(compiled.signatures) == 1


def test_nan_and_infinity_stay_what_they_are():
    assert jit(is_nan)(math.nan)
    assert math.isinf(jit(total)(np.array([1.0, math.inf])))
    assert math.isnan(jit(total)(np.array([1.0, math.nan])))
    assert "nnan" not in SAFE_FAST_MATH and "ninf" not in SAFE_FAST_MATH


def test_division_by_zero_is_infinite_as_in_numpy():
    assert jit(ratio)(1.0, 0.0) == math.inf


def test_threads_may_run_side_by_side():
    assert jit(total).targetoptions["nogil"] is True
