"""The optimisation problem: primal, dual, certificate and result, written once for all losses and regularizers."""

from polykern.problems.machine import MachineProblem, relative_gap
from polykern.problems.mkl import Certificate, MKLProblem, Point
from polykern.problems.result import MKLResult, Record, Status

__all__ = [
    "Certificate",
    "MKLProblem",
    "MKLResult",
    "MachineProblem",
    "Point",
    "Record",
    "Status",
    "relative_gap",
]
