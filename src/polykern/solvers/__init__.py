"""Solvers: one algorithm of one paper per file; all of them reach the same optimum, with a certificate."""

from polykern.solvers.auto import Auto, as_solver, choose_solver
from polykern.solvers.base import Solver
from polykern.solvers.chunking import Chunking
from polykern.solvers.hessian_mkl import HessianMKL
from polykern.solvers.interior_point import InteriorPoint
from polykern.solvers.level import Level
from polykern.solvers.lp_analytic import LpAnalytic
from polykern.solvers.m3k import M3K
from polykern.solvers.mc_mkl import MCMKL
from polykern.solvers.mirror_descent import MirrorDescent
from polykern.solvers.obscure import Obscure
from polykern.solvers.pegasos import Pegasos
from polykern.solvers.quadratic_bundle import QuadraticBundle
from polykern.solvers.silp import SILP
from polykern.solvers.simple_mkl import SimpleMKL
from polykern.solvers.ufo import UFO

__all__ = [
    "M3K",
    "MCMKL",
    "SILP",
    "UFO",
    "Auto",
    "Chunking",
    "HessianMKL",
    "InteriorPoint",
    "Level",
    "LpAnalytic",
    "MirrorDescent",
    "Obscure",
    "Pegasos",
    "QuadraticBundle",
    "SimpleMKL",
    "Solver",
    "as_solver",
    "choose_solver",
]
