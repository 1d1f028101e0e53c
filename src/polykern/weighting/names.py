"""From what a user types for `weighting=` to a weighting."""

from __future__ import annotations

import difflib
from typing import Any

from polykern.weighting.align import Align
from polykern.weighting.alignf import AlignF
from polykern.weighting.base import Weighting
from polykern.weighting.best import Best
from polykern.weighting.binary_mkl import BinaryMKL
from polykern.weighting.cka import CKA
from polykern.weighting.easy_mkl import EasyMKL
from polykern.weighting.f_heuristic import FHeuristic
from polykern.weighting.margin_lp import MarginLP
from polykern.weighting.product import Product
from polykern.weighting.pwmk import PWMK
from polykern.weighting.uniform import Uniform

NAMES: dict[str, type[Weighting]] = {
    "uniform": Uniform,
    "best": Best,
    "product": Product,
    "align": Align,
    "alignf": AlignF,
    "cka": CKA,
    "pwmk": PWMK,
    "f-heuristic": FHeuristic,
    "binary-mkl": BinaryMKL,
    "margin-lp": MarginLP,
    "easy-mkl": EasyMKL,
}


def as_weighting(spec: Any) -> Weighting:
    """The weighting that `spec` names ("alignf", "uniform", ..), or `spec` itself."""
    weighting = _named(spec) if isinstance(spec, str) else spec
    if isinstance(weighting, type) and issubclass(weighting, Weighting):
        raise TypeError(f"weighting is the class {weighting.__name__}, expected an object: {weighting.__name__}().")
    if not isinstance(weighting, Weighting):
        raise TypeError(f"weighting is {spec!r}, expected {_known()}, or an object of polykern.weighting.")
    return weighting


def _named(name: str) -> Weighting:
    if name not in NAMES:
        close = difflib.get_close_matches(name.lower(), NAMES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"weighting is {name!r}, expected one of {_known()}, or an object of polykern.weighting.{hint}"
        )
    return NAMES[name]()


def _known() -> str:
    return ", ".join(map(repr, NAMES))
