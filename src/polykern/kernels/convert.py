"""What users may give where a kernel is wanted, turned into a Kernel."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from polykern.kernels.base import Kernel
from polykern.kernels.function import Function
from polykern.kernels.vectors import RBF, Chi2, Cosine, HistogramIntersection, Laplacian, Linear, Polynomial

_NAMED: dict[str, type[Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "poly": Polynomial,
    "rbf": RBF,
    "laplacian": Laplacian,
    "chi2": Chi2,
    "cosine": Cosine,
    "histogram-intersection": HistogramIntersection,
}

KERNEL_NAMES: tuple[str, ...] = tuple(_NAMED)


def as_kernel(given: Any) -> Kernel:
    """The Kernel that `given` means: a Kernel, a name, a callable f(X, Z), or an object with `gram`.

    scikit-learn's kernel objects are callables; where they have `diag` it is used.
    """
    if isinstance(given, Kernel):
        return given
    if isinstance(given, str):
        return _by_name(given)
    if isinstance(given, type):
        raise TypeError(f"kernel is the class {given.__name__}, expected an object: write {given.__name__}().")
    if isinstance(given, np.ndarray):
        raise TypeError(
            f"kernel is an array of shape {given.shape}, expected a kernel: wrap it as kernels.Precomputed(K) and "
            "pass sample "
            "numbers as X."
        )
    _refuse_noise(given)
    if callable(getattr(given, "gram", None)):
        return Function(given.gram, diag=_method(given, "diag"))
    if callable(given):
        return Function(given, diag=_method(given, "diag"))
    raise TypeError(
        f"kernel is {given!r}, expected a kernel, a name ({', '.join(KERNEL_NAMES)}), a callable f(X, Z) -> matrix, "
        "or an object with "
        "gram(X, Z)."
    )


def _by_name(name: str) -> Kernel:
    if name in _NAMED:
        return _NAMED[name]()
    close = difflib.get_close_matches(name.lower().replace("_", "-"), KERNEL_NAMES, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"kernel {name!r} is not known; the names are {', '.join(KERNEL_NAMES)}.{hint}")


def _method(given: Any, name: str) -> Any:
    method = getattr(given, name, None)
    return method if callable(method) else None


def _refuse_noise(given: Any) -> None:
    """scikit-learn's WhiteKernel is no function of two samples: with X and Z it is 0 even where they are equal."""
    parts = [given, *(given.get_params().values() if _method(given, "get_params") else ())]
    if any(type(part).__name__ == "WhiteKernel" for part in parts):
        raise ValueError(
            f"kernel {given!r} holds a WhiteKernel, which is noise on the training matrix and not a function of two "
            "samples: "
            "leave it out, C does its work."
        )
