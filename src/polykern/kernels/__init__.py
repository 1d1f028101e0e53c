"""Kernels: pure functions of two samples, and the normalizers that put their matrices on one scale."""

from __future__ import annotations

from polykern.kernels.base import Kernel
from polykern.kernels.columns import select_columns
from polykern.kernels.compose import OnColumns, Product, Sum, peel
from polykern.kernels.convert import KERNEL_NAMES, as_kernel
from polykern.kernels.families import default_kernels, family, rbf_grid, simplemkl_family
from polykern.kernels.function import Function
from polykern.kernels.matrix_checks import check_matrix, check_psd, nearest_psd
from polykern.kernels.normalizers import Normalization, normalizer
from polykern.kernels.pairwise import BASES, base_block
from polykern.kernels.precomputed import Precomputed
from polykern.kernels.vectors import RBF, Chi2, Cosine, HistogramIntersection, Laplacian, Linear, Polynomial

__all__ = [
    "BASES",
    "KERNEL_NAMES",
    "RBF",
    "Chi2",
    "Cosine",
    "Function",
    "HistogramIntersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Normalization",
    "OnColumns",
    "Polynomial",
    "Precomputed",
    "Product",
    "Sum",
    "as_kernel",
    "base_block",
    "check_matrix",
    "check_psd",
    "default_kernels",
    "family",
    "nearest_psd",
    "normalizer",
    "peel",
    "rbf_grid",
    "select_columns",
    "simplemkl_family",
]
