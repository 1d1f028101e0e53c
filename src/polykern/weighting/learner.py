"""Any kernel machine with scikit-learn's interface, told that it gets matrices."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

_SUCH_AS = "such as SVC(), NuSVC(), SVR() or KernelRidge()"


def on_matrices(learner: Any) -> Any:
    """A clone of `learner` with kernel="precomputed"; refuses what is no kernel machine."""
    if isinstance(learner, type):
        raise TypeError(f"learner is the class {learner.__name__}, expected an object: write {learner.__name__}().")
    if not (hasattr(learner, "get_params") and hasattr(learner, "fit") and hasattr(learner, "predict")):
        raise TypeError(f"learner is {learner!r}, expected a kernel machine of scikit-learn, {_SUCH_AS}.")
    kernel = learner.get_params(deep=False).get("kernel")
    if not (isinstance(kernel, str) or callable(kernel)):
        raise ValueError(
            f"learner is {learner!r}, which cannot be given a kernel matrix: it has no parameter `kernel` that takes "
            f"'precomputed'; expected a kernel machine, {_SUCH_AS}."
        )
    return clone(learner).set_params(kernel="precomputed")
