"""The rule behind solver="auto", as a table: the first row that fits is taken."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, NamedTuple

from polykern.problems.mkl import MKLProblem
from polykern.problems.result import MKLResult
from polykern.problems.support import why_not_here
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
from polykern.solvers.quadratic_bundle import FEW_KERNELS, QuadraticBundle
from polykern.solvers.silp import SILP
from polykern.solvers.simple_mkl import SimpleMKL
from polykern.solvers.ufo import UFO

# Dual variables (samples x outputs) up to which factoring a matrix of their size beats solving machines: the fewer
# kernels there are, the fewer machines it takes.
FEW_VARIABLES, SOME_VARIABLES = 600, 1000


def _few_variables(problem: MKLProblem) -> bool:
    few_kernels = problem.bank.n_kernels <= FEW_KERNELS
    return problem.targets.size <= (FEW_VARIABLES if few_kernels else SOME_VARIABLES)


class Rule(NamedTuple):
    """One row: the solver, where it is taken (of what it handles), and why it comes here."""

    solver: type[Solver]
    where: str
    reason: str
    takes: Callable[[MKLProblem], bool] = lambda problem: True
    options: dict[str, Any] = {}


RULES = (
    Rule(LpAnalytic, "p > 1", "3 to 7 machines to a gap of 1e-3, at p = 1.25 and 2, on the problems of the papers"),
    Rule(
        InteriorPoint,
        f"p = 1, up to {FEW_VARIABLES} dual variables, {SOME_VARIABLES} with more than {FEW_KERNELS} kernels",
        "a few passes over the kernels to any gap, however many kernels; up to 500 samples faster than the next",
        _few_variables,
    ),
    Rule(
        QuadraticBundle,
        "p = 1",
        "6 to 8 machines to a gap of 1e-3, 9 to 14 to 1e-6 on letter, 1,000 to 5,000 samples: half of Level's",
    ),
    Rule(
        Level,
        "groups, MarginSimplex",
        "7 to 17 machines to a gap of 1e-3 on digits, flowers, Caltech-101 and ionosphere, q from 0.55 to 3",
    ),
    Rule(UFO, "MixedNorm, no bias", "the only one; to a gap, with dual steps", options={"check_gap": True}),
)

ALL: tuple[type[Solver], ...] = (
    InteriorPoint,
    QuadraticBundle,
    Level,
    SILP,
    Chunking,
    SimpleMKL,
    HessianMKL,
    LpAnalytic,
    MirrorDescent,
    MCMKL,
    M3K,
    Obscure,
    Pegasos,
    UFO,
)


class Auto(Solver):
    """The solver of the first rule that takes the problem."""

    def solve(self, problem: MKLProblem, **options: Any) -> MKLResult:
        """See `Solver.solve`."""
        return choose_solver(problem).solve(problem, **options)


def choose_solver(problem: MKLProblem) -> Solver:
    """The solver of the first rule that takes this problem."""
    for rule in RULES:
        solver = rule.solver(**rule.options)
        if rule.takes(problem) and why_not_here(solver, problem) is None:
            return solver
    bias = " and a bias; set fit_intercept to False" if problem.fit_intercept else ""
    if problem.regularizer.cut:
        raise ValueError(why_not_here(Level(), problem))
    convex = "; p = 1 is not strongly convex, take p from above 1 to 2" if _is_flat(problem) else ""
    raise ValueError(f"No solver handles {type(problem.loss).__name__} with {problem.regularizer!r}{convex or bias}.")


def _is_flat(problem: MKLProblem) -> bool:
    return problem.regularizer.mixed and getattr(problem.regularizer, "p", 2.0) <= 1.0


def as_solver(spec: Any) -> Solver:
    """The solver that `spec` names ("auto", a class name in any case), or `spec` itself."""
    if isinstance(spec, Solver):
        return spec
    if not isinstance(spec, str):
        raise TypeError(f"solver is {spec!r}, expected 'auto' or an object of polykern.solvers such as SILP().")
    if spec == "auto":
        return Auto()
    by_name = {solver.__name__.lower(): solver for solver in ALL}
    if spec.lower() not in by_name:
        close = difflib.get_close_matches(spec.lower(), by_name, n=1)
        hint = f" Did you mean {by_name[close[0]].__name__!r}?" if close else ""
        known = ", ".join(repr(solver.__name__) for solver in ALL)
        raise ValueError(f"solver is {spec!r}, expected 'auto', {known}, or an object of polykern.solvers.{hint}")
    return by_name[spec.lower()]()
