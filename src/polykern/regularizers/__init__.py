"""Regularizers: how kernel weights are kept in bounds, and so how many kernels are kept."""

from polykern.regularizers.base import Regularizer
from polykern.regularizers.group_norm import GroupNorm
from polykern.regularizers.grouped_norm import GroupedNorm
from polykern.regularizers.lp_ball import LpBall
from polykern.regularizers.margin_simplex import MarginSimplex
from polykern.regularizers.mixed_norm import MixedNorm
from polykern.regularizers.names import as_regularizer
from polykern.regularizers.simplex import Simplex

__all__ = [
    "GroupNorm",
    "GroupedNorm",
    "LpBall",
    "MarginSimplex",
    "MixedNorm",
    "Regularizer",
    "Simplex",
    "as_regularizer",
]
