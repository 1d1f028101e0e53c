"""Which cutting-plane model a weight set asks for."""

from __future__ import annotations

from polykern.problems.mkl import MKLProblem
from polykern.regularizers import GroupedNorm
from polykern.solvers.ball_planes import BallPlanes
from polykern.solvers.cuts import CuttingPlanes
from polykern.solvers.group_planes import SaddlePlanes
from polykern.solvers.margin_planes import MarginPlanes


def planes_for(problem: MKLProblem, scale: float) -> CuttingPlanes:
    """The empty model of a problem on the simplex, with groups, or with a condition on the margin."""
    if isinstance(problem.regularizer, GroupedNorm) and problem.regularizer.q < 1.0:
        return BallPlanes(problem, scale)
    if problem.regularizer.grouped:
        return SaddlePlanes(problem, scale)
    if problem.regularizer.cut:
        return MarginPlanes(problem, scale)
    return CuttingPlanes(problem.bank.n_kernels, scale)
