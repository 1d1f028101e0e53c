"""Checks of constructor arguments: one readable sentence each, raised at fit, as scikit-learn asks."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_positive(name: str, value: Any, hint: str = "") -> float:
    """`value` as a float, if it is a finite number above 0."""
    number = _real(name, value, "a positive number")
    if not 0.0 < number < math.inf:
        raise ValueError(f"{name} is {value!r}, expected a finite number above 0{hint}.")
    return number


def check_between(name: str, value: Any, low: float, high: float, *, low_open: bool, hint: str = "") -> float:
    """`value` as a float, if it lies in [low, high] or (low, high]."""
    interval = f"{'(' if low_open else '['}{low:g}, {high:g}{')' if math.isinf(high) else ']'}"
    number = _real(name, value, f"a number in {interval}")
    if not low <= number <= high or math.isinf(number) or (low_open and number == low):
        raise ValueError(f"{name} is {value!r}, expected a number in {interval}{hint}.")
    return number


def check_count(name: str, value: Any, minimum: int) -> int:
    """`value` as an int, if it is a whole number of at least `minimum`."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected a whole number of at least {minimum}.")
    if value < minimum:
        raise ValueError(f"{name} is {value!r}, expected a whole number of at least {minimum}.")
    return int(value)


def check_flag(name: str, value: Any, expected: str = "True or False") -> bool:
    """`value` as a bool, if it is one."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is {value!r}, expected {expected}.")
    return bool(value)


def check_choice(name: str, value: Any, known: Sequence[str]) -> str:
    """`value`, if it is one of the known words."""
    if isinstance(value, str) and value in known:
        return value
    raise ValueError(f"{name} is {value!r}, which is not known; {did_you_mean(value, known)}.")


_WITH_PARAMETERS = {
    "regularizer": "regularizer=LpBall(p=1.5)",
    "solver": "an object of polykern.solvers",
    "loss": "an object of polykern.losses",
    "kernels": "one kernel object",
    "weighting": "an object of polykern.weighting",
    "learner": "learner=SVC()",
}

_WITH_THIS_PARAMETER = {
    ("regularizer", "gamma0"): "regularizer=MarginSimplex(gamma0='50%')",
    ("regularizer", "q"): "regularizer=GroupedNorm(groups, q=2.0) or MarginSimplex(q=2.0)",
    ("regularizer", "groups"): "regularizer=GroupedNorm(groups)",
    ("regularizer", "l1"): "regularizer=MixedNorm(p=1.5, l1=1.0)",
}


def check_has_parameters(name: str, value: Any, parameter: str) -> None:
    """Refuse `name__parameter` where `value`, a word, number or list, has no parameters of its own."""
    if hasattr(value, "set_params"):
        return
    shown = f"a {type(value).__name__}" if isinstance(value, list | tuple | np.ndarray) else repr(value)
    known = _WITH_THIS_PARAMETER.get((name, parameter), _WITH_PARAMETERS.get(name))
    way_out = f"give {known}, or " if known else ""
    raise ValueError(f"{name} is {shown}, which has no parameter {parameter!r}: {way_out}vary {name} itself.")


def did_you_mean(value: Any, known: Sequence[str]) -> str:
    """The known words as a clause, led by the nearest one where there is a near one."""
    listed = "known are " + ", ".join(repr(word) for word in known)
    near = difflib.get_close_matches(value.lower(), known, n=1) if isinstance(value, str) else []
    return f"did you mean {near[0]!r}? {listed}" if near else listed


def check_callbacks(callbacks: Any) -> tuple[Callable[..., Any], ...]:
    """The callbacks as a tuple; None is no callback, one callable is a tuple of one."""
    if callbacks is None:
        return ()
    if callable(callbacks):
        return (callbacks,)
    listed = tuple(callbacks) if isinstance(callbacks, Iterable) and not isinstance(callbacks, str) else (callbacks,)
    for position, callback in enumerate(listed):
        if not callable(callback):
            raise TypeError(f"callbacks[{position}] is {callback!r}, expected a callable or a list of callables.")
    return listed


def _real(name: str, value: Any, expected: str) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected {expected}.")
    if math.isnan(float(value)):
        raise ValueError(f"{name} is nan, expected {expected}.")
    return float(value)
