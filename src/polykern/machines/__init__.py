"""Machines: solvers for fixed kernel weights, one combined kernel at a time."""

from __future__ import annotations

from polykern.machines.base import Machine, MachineSolution
from polykern.machines.choice import machine_for
from polykern.machines.crammer_singer import CrammerSinger
from polykern.machines.matrix import CombinedMatrix
from polykern.machines.newton import Newton
from polykern.machines.smo import SMO

__all__ = ["SMO", "CombinedMatrix", "CrammerSinger", "Machine", "MachineSolution", "Newton", "machine_for"]
