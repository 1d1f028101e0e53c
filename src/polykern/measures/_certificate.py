"""Tolerances of the measures that are computed step by step, and what is said where one is not reached."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from polykern.bank.callers import users_line


def checked_tol(tol: Any) -> float:
    """A share, above 0 and below 1."""
    if not isinstance(tol, int | float) or isinstance(tol, bool) or not 0.0 < tol < 1.0:
        raise ValueError(f"tol is {tol!r}, expected a share above 0 and below 1, such as 1e-3.")
    return float(tol)


def warn_of_gap(gap: float, tol: float, what: str) -> None:
    """Say that the certificate of `what` is wider than asked for."""
    if gap > tol:
        warnings.warn(
            f"{what} is certified to a share of {gap:.2e} only, tol is {tol:g}: no step makes progress in floating "
            "point; use a float64 matrix or a larger tol.",
            ConvergenceWarning,
            stacklevel=users_line(),
        )
