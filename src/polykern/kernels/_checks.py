"""Checks of kernel parameters, with the sentences users read."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any


def is_number(value: Any) -> bool:
    """Whether `value` is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_positive(value: Any, name: str, owner: str, words: tuple[str, ...] = ()) -> None:
    """Raise unless `value` is a finite number > 0 or one of the accepted words."""
    expected = " or ".join(["a number > 0", *(f'"{word}"' for word in words)])
    if isinstance(value, str):
        if value not in words:
            raise ValueError(f"{owner}: {name} is {value!r}, expected {expected}.")
    elif not is_number(value):
        raise TypeError(f"{owner}: {name} is {value!r}, expected {expected}.")
    elif not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{owner}: {name} is {value}, expected {expected}.")


def check_not_negative(value: Any, name: str, owner: str) -> None:
    """Raise unless `value` is a finite number >= 0."""
    if not is_number(value):
        raise TypeError(f"{owner}: {name} is {value!r}, expected a number >= 0.")
    if not (value >= 0 and math.isfinite(value)):
        raise ValueError(
            f"{owner}: {name} is {value}, expected a number >= 0: a negative one is not positive semidefinite."
        )


def check_degree(value: Any, owner: str) -> None:
    """Raise unless `value` is a whole number >= 1."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{owner}: degree is {value!r}, expected a whole number >= 1.")
    if value < 1:
        raise ValueError(f"{owner}: degree is {value}, expected a whole number >= 1.")
