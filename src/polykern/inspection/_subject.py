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
    """Kernel weights with their names, and the solver's result where one problem is behind them."""

    weights: NDArray[np.float64]
    names: tuple[str, ...]
    solved: MKLResult | None = None

    @property
    def result(self) -> MKLResult:
        """The result; weights that were chosen beforehand have none."""
        if self.solved is None:
            raise TypeError(
                "There is no gap to look at: the kernel weights of this model were chosen first (TwoStageMKL) or mix "
                "machines (LPBetaClassifier); plot_weights shows them."
            )
        return self.solved

    @property
    def mean_weights(self) -> NDArray[np.float64]:
        """(F,) kernel weights; their mean where every output has its own."""
        return np.atleast_2d(self.weights).mean(axis=0)

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
    while inner is not None and not _has_weights(inner):
        model_or_result = inner
        steps = getattr(inner, "steps", None)
        inner = steps[-1][1] if steps else getattr(inner, "best_estimator_", getattr(inner, "regressor_", None))
    return model_or_result if inner is None else inner


def _has_weights(model_or_result: Any) -> bool:
    """A result, or a fitted model with one or with named kernels."""
    known = isinstance(model_or_result, MKLResult) or isinstance(getattr(model_or_result, "result_", None), MKLResult)
    return known or hasattr(model_or_result, "kernel_names_")


def as_subject(model_or_result: Any, names: Sequence[str] | None = None) -> Subject:
    """`model_or_result` as a Subject; the kernels of a bare result are numbered unless `names` are given.

    Pipelines, searches and target transformers stand for the model inside.
    """
    model = unwrapped(model_or_result)
    found = model if isinstance(model, MKLResult) else getattr(model, "result_", None)
    solved = found if isinstance(found, MKLResult) else None
    weights = getattr(model, "weights_", None) if solved is None else solved.weights
    if weights is None:
        raise _no_weights(model)
    n_kernels = np.shape(weights)[-1]
    if names is None:
        names = getattr(model, "kernel_names_", None) or [f"kernel {k}" for k in range(n_kernels)]
    if len(names) != n_kernels:
        raise ValueError(f"names holds {len(names)} names, expected one for each of the {n_kernels} kernels.")
    return Subject(np.asarray(weights), tuple(str(name) for name in names), solved)


def _no_weights(model: Any) -> Exception:
    kind = type(model).__name__
    if hasattr(model, "fit"):
        return NotFittedError(
            f"This {kind} is not fitted yet, or has no kernel weights: call fit before looking at it."
        )
    return TypeError(f"model_or_result is a {kind}, expected a fitted model of polykern or its MKLResult.")
