"""Two-stage methods: kernel weights first, then any kernel machine (`TwoStageMKL`)."""

from polykern.weighting.align import Align
from polykern.weighting.alignf import AlignF
from polykern.weighting.base import Weighting
from polykern.weighting.best import Best
from polykern.weighting.binary_mkl import BinaryMKL
from polykern.weighting.cka import CKA
from polykern.weighting.easy_mkl import EasyMKL
from polykern.weighting.f_heuristic import FHeuristic
from polykern.weighting.margin_lp import MarginLP
from polykern.weighting.names import as_weighting
from polykern.weighting.product import Product
from polykern.weighting.pwmk import PWMK
from polykern.weighting.uniform import Uniform

__all__ = [
    "CKA",
    "PWMK",
    "Align",
    "AlignF",
    "Best",
    "BinaryMKL",
    "EasyMKL",
    "FHeuristic",
    "MarginLP",
    "Product",
    "Uniform",
    "Weighting",
    "as_weighting",
]
