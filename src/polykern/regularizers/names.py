"""From what a user types for `regularizer=` to a regularizer."""

from __future__ import annotations

import difflib
from numbers import Real
from typing import Any

import numpy as np

from polykern.regularizers.base import Regularizer
from polykern.regularizers.group_norm import GroupNorm
from polykern.regularizers.grouped_norm import GroupedNorm
from polykern.regularizers.grouping import check_groups
from polykern.regularizers.lp_ball import LpBall
from polykern.regularizers.mixed_norm import MixedNorm
from polykern.regularizers.simplex import Simplex

NAMES = {"l1": 1.0, "simplex": 1.0, "l2": 2.0, "linf": np.inf, "sum": np.inf}


def as_regularizer(spec: Any) -> Regularizer:
    """The regularizer that `spec` names ("l1", "l2", a number p of the weights), or `spec` itself, checked."""
    if isinstance(spec, str):
        regularizer: Any = _from_weight_norm(_named(spec))
    elif isinstance(spec, Real) and not isinstance(spec, bool):
        regularizer = _from_weight_norm(float(spec))
    else:
        regularizer = spec
    if not isinstance(regularizer, Regularizer):
        raise TypeError(
            f"regularizer is {spec!r}, expected 'l1', 'l2', a number p >= 1, or an object of polykern.regularizers."
        )
    _check_parameters(regularizer)
    return regularizer


def _named(name: str) -> float:
    if name not in NAMES:
        close = difflib.get_close_matches(name.lower(), NAMES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"regularizer is {name!r}, expected one of {', '.join(map(repr, NAMES))}, a number p >= 1, "
            f"or an object of polykern.regularizers.{hint}"
        )
    return NAMES[name]


def _from_weight_norm(p: float) -> Regularizer:
    return Simplex() if p == 1.0 else LpBall(p=p)


def _check_parameters(regularizer: Regularizer) -> None:
    p = getattr(regularizer, "p", None)
    if isinstance(regularizer, LpBall) and not (isinstance(p, Real) and float(p) >= 1):
        raise ValueError(
            f"p of the weight norm is {p!r}, expected a number >= 1: 1 keeps few kernels, inf is their plain sum "
            "(below 1 the problem is not convex)."
        )
    if isinstance(regularizer, GroupNorm) and not (isinstance(p, Real) and 1 <= float(p) <= 2):
        raise ValueError(
            f"p of GroupNorm is {p!r}, expected a number from 1 to 2 (the norm of the block norms); "
            "for a norm of the weights use LpBall(p)."
        )
    if isinstance(regularizer, MixedNorm):
        _check_mixed(regularizer)
    if isinstance(regularizer, GroupedNorm):
        q = regularizer.q
        if not isinstance(q, Real) or isinstance(q, bool) or not float(q) >= 0.5:
            raise ValueError(
                f"q of GroupedNorm is {q!r}, expected a number from 1/2 (few groups) to inf (even groups); below 1/2 "
                "the problem is not convex."
            )
        check_groups(regularizer.groups)


def _check_mixed(regularizer: MixedNorm) -> None:
    p, l1 = regularizer.p, regularizer.l1
    if not (isinstance(p, Real) and 1 <= float(p) <= 2):
        raise ValueError(f"p of MixedNorm is {p!r}, expected a number from 1 to 2 (the norm of the block norms).")
    if not (isinstance(l1, Real) and 0 <= float(l1) < np.inf):
        raise ValueError(
            f"l1 of MixedNorm is {l1!r}, expected a number >= 0 in the units of Omega + C * losses: C n times the "
            "paper's."
        )
