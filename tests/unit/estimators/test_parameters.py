"""The sentences about constructor arguments."""

from __future__ import annotations

import numpy as np
import pytest

from polykern.estimators._parameters import (
    check_between,
    check_callbacks,
    check_choice,
    check_count,
    check_flag,
    check_positive,
)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int64(3)])
def test_positive_numbers_pass(value: float) -> None:
    assert check_positive("C", value) == float(value)


@pytest.mark.parametrize("value", [0, -1.0, np.inf, np.nan])
def test_numbers_that_are_not_positive(value: float) -> None:
    with pytest.raises(ValueError, match="^C is "):
        check_positive("C", value)


@pytest.mark.parametrize("value", ["1", None, True, [1.0]])
def test_what_is_no_number(value: object) -> None:
    with pytest.raises(TypeError, match="^C is .* expected a positive number"):
        check_positive("C", value)


def test_intervals() -> None:
    assert check_between("nu", 1.0, 0.0, 1.0, low_open=True) == 1.0
    assert check_between("epsilon", 0, 0.0, np.inf, low_open=False) == 0.0
    with pytest.raises(ValueError, match=r"nu is 0, expected a number in \(0, 1\]\."):
        check_between("nu", 0, 0.0, 1.0, low_open=True)
    with pytest.raises(ValueError, match=r"epsilon is inf, expected a number in \[0, inf\)\."):
        check_between("epsilon", np.inf, 0.0, np.inf, low_open=False)


def test_counts() -> None:
    assert check_count("max_iter", np.int64(5), 1) == 5
    with pytest.raises(TypeError, match="max_iter is 5.0, expected a whole number of at least 1"):
        check_count("max_iter", 5.0, 1)
    with pytest.raises(TypeError, match="max_iter is True"):
        check_count("max_iter", True, 1)
    with pytest.raises(ValueError, match="max_iter is 0, expected a whole number of at least 1"):
        check_count("max_iter", 0, 1)


def test_flags() -> None:
    assert check_flag("probability", np.True_) is True
    with pytest.raises(TypeError, match="probability is 1, expected True or False"):
        check_flag("probability", 1)


def test_choices_suggest_the_nearest() -> None:
    assert check_choice("multiclass", "ovo", ("ovr", "ovo")) == "ovo"
    with pytest.raises(
        ValueError, match="multiclass is 'OVO', which is not known; did you mean 'ovo'\\? known are 'ovr', 'ovo'"
    ):
        check_choice("multiclass", "OVO", ("ovr", "ovo"))
    with pytest.raises(ValueError, match="multiclass is None, which is not known; known are 'ovr', 'ovo'"):
        check_choice("multiclass", None, ("ovr", "ovo"))


def test_callbacks_become_a_tuple() -> None:
    assert check_callbacks(None) == ()
    assert check_callbacks(print) == (print,)
    assert check_callbacks([print, repr]) == (print, repr)
    with pytest.raises(TypeError, match=r"callbacks\[1\] is 'x', expected a callable"):
        check_callbacks([print, "x"])
    with pytest.raises(TypeError, match=r"callbacks\[0\] is 3, expected a callable"):
        check_callbacks(3)
