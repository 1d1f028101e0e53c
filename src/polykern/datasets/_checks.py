"""Refuses parameters of the makers with one sentence."""

from __future__ import annotations

from numbers import Integral, Real


def check_count(name: str, value: int, least: int) -> int:
    """`value` as an int, if it is a whole number of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}, expected a whole number of at least {least}.")
    return int(value)


def check_number(name: str, value: float, *, least: float = float("-inf"), above: float = float("-inf")) -> float:
    """`value` as a float, if it is a finite number with value >= least and value > above."""
    inside = isinstance(value, Real) and least <= value < float("inf") and value > above
    if not inside:
        bound = f"above {above:g}" if above > float("-inf") else f"of at least {least:g}"
        wanted = "a finite number" if max(least, above) == float("-inf") else f"a finite number {bound}"
        raise ValueError(f"{name} is {value!r}, expected {wanted}.")
    return float(value)
