"""What is looked at: a fitted model or a bare result, brought to one form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from polykern.problems.result import MKLResult


@dataclass(frozen=True)
class Subject:
    """A result and the names of its kernels."""

    result: MKLResult
    names: tuple[str, ...]

    @property
    def mean_weights(self) -> NDArray[np.float64]:
        """(F,) kernel weights; their mean where every output has its own."""
        return np.atleast_2d(self.result.weights).mean(axis=0)

    @property
    def solves(self) -> tuple[MKLResult, ...]:
        """The solver's runs: one, or one per output where every output was solved on its own."""
        return self.result.parts or (self.result,)

    def heaviest(self, top: int) -> NDArray[np.intp]:
        """Positions of the `top` largest weights, largest first; of equal weights, the first kernel comes first."""
        return np.argsort(-self.mean_weights, kind="stable")[:top]


def unwrapped(model_or_result: Any) -> Any:
    """The model at the end of a pipeline, the best one of a search, the one behind a target transformer; or itself."""
    inner = model_or_result
    while inner is not None and not isinstance(getattr(inner, "result_", inner), MKLResult):
        model_or_result = inner
        steps = getattr(inner, "steps", None)
        inner = steps[-1][1] if steps else getattr(inner, "best_estimator_", getattr(inner, "regressor_", None))
    return model_or_result if inner is None else inner


def as_subject(model_or_result: Any, names: Sequence[str] | None = None) -> Subject:
    """`model_or_result` as a Subject; the kernels of a bare result are numbered unless `names` are given.

    Pipelines, searches and target transformers stand for the model inside.
    """
    model_or_result = unwrapped(model_or_result)
    result = _result_of(model_or_result)
    n_kernels = result.weights.shape[-1]
    if names is None:
        names = getattr(model_or_result, "kernel_names_", None) or [f"kernel {k}" for k in range(n_kernels)]
    if len(names) != n_kernels:
        raise ValueError(f"names holds {len(names)} names, expected one for each of the {n_kernels} kernels.")
    return Subject(result, tuple(str(name) for name in names))


def _result_of(model_or_result: Any) -> MKLResult:
    if isinstance(model_or_result, MKLResult):
        return model_or_result
    result = getattr(model_or_result, "result_", None)
    if isinstance(result, MKLResult):
        return result
    kind = type(model_or_result).__name__
    if hasattr(model_or_result, "fit"):
        raise NotFittedError(f"This {kind} is not fitted yet, or keeps no result_: call fit before looking at it.")
    raise TypeError(f"model_or_result is a {kind}, expected a fitted model of polykern or its MKLResult.")
