"""A result made by hand, so that every number on a picture is known."""

from __future__ import annotations

import numpy as np

from polykern.problems.result import MKLResult, Record, Status

WEIGHTS = (0.2, 0.0, 0.5, 0.3)
GAPS = (0.5, 0.05, 0.0)


def make_result(weights=WEIGHTS, gaps=GAPS, parts=()) -> MKLResult:
    history = tuple(Record(i, 1.0 + gap, 1.0, gap, 3, 0.1 * (i + 1), 4 * i, i + 1) for i, gap in enumerate(gaps))
    return MKLResult(
        coef=np.zeros((5, 1)),
        weights=np.array(weights),
        intercept=np.zeros(1),
        primal=1.0,
        dual=1.0,
        gap=gaps[-1] if gaps else 0.0,
        dual_coef=np.zeros((5, 1)),
        status=Status.CONVERGED,
        n_iter=len(gaps),
        n_machines=len(gaps),
        n_kernel_products=12,
        bytes_moved=1000,
        seconds=0.25,
        solver="SILP",
        history=history,
        parts=parts,
    )


class Model:
    """What inspection reads of a fitted model."""

    tol = 1e-3
    kernel_names_ = ("a", "b", "c", "d")

    def __init__(self, result: MKLResult) -> None:
        self.result_ = result

    def fit(self) -> None: ...

    def summary(self) -> str:
        return "1 < 2 & all is well"
