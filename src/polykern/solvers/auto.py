"""The rule behind solver="auto", as a table: the first row that fits is taken."""

from __future__ import annotations

import difflib
from typing import Any, NamedTuple

from polykern.losses import Loss
from polykern.problems.support import supports
from polykern.regularizers import Regularizer
from polykern.solvers.base import Solver
from polykern.solvers.interior_point import InteriorPoint
from polykern.solvers.level import Level
from polykern.solvers.lp_analytic import LpAnalytic
from polykern.solvers.silp import SILP
from polykern.solvers.simple_mkl import SimpleMKL


class Rule(NamedTuple):
    """One row: the solver, and why it comes here."""

    solver: type[Solver]
    reason: str


RULES = (
    Rule(LpAnalytic, "p > 1: closed-form weights need the fewest machines"),
    Rule(Level, "p = 1: half to a twelfth of SILP's machines on the problems of the SimpleMKL paper"),
)

ALL: tuple[type[Solver], ...] = (InteriorPoint, Level, SILP, SimpleMKL, LpAnalytic)


def choose_solver(loss: Loss, regularizer: Regularizer) -> Solver:
    """The solver of the first rule that handles this loss and regularizer."""
    for rule in RULES:
        solver = rule.solver()
        if supports(solver, loss, regularizer):
            return solver
    raise ValueError(f"No solver handles {type(loss).__name__} with {regularizer!r}.")


def as_solver(spec: Any, loss: Loss, regularizer: Regularizer) -> Solver:
    """The solver that `spec` names ("auto", a class name in any case), or `spec` itself."""
    if isinstance(spec, Solver):
        return spec
    if not isinstance(spec, str):
        raise TypeError(f"solver is {spec!r}, expected 'auto' or an object of polykern.solvers such as SILP().")
    if spec == "auto":
        return choose_solver(loss, regularizer)
    by_name = {solver.__name__.lower(): solver for solver in ALL}
    if spec.lower() not in by_name:
        close = difflib.get_close_matches(spec.lower(), by_name, n=1)
        hint = f" Did you mean {by_name[close[0]].__name__!r}?" if close else ""
        known = ", ".join(repr(solver.__name__) for solver in ALL)
        raise ValueError(f"solver is {spec!r}, expected 'auto', {known}, or an object of polykern.solvers.{hint}")
    return by_name[spec.lower()]()
