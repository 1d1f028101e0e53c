"""Any callable f(X, Z) as a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polykern.kernels.base import Kernel, common_dtype
from polykern.kernels.columns import select_columns

_PROBE = 8  # samples on which a callable is tried out


class Function(Kernel):
    """A kernel given by a callable.

    k(X, Z) = f(X, Z), the matrix (n, m) for float arrays X (n, d) and Z (m, d). `diag(X)` gives the values (n,) of
    every row with itself; without it they are read off small blocks. Every entry may depend on its own two rows only,
    because matrices are computed in blocks, from several threads at once; `resolve` tries this out on a few rows.
    """

    def __init__(self, f: Callable[..., Any], diag: Callable[..., Any] | None = None) -> None:
        if not callable(f):
            raise TypeError(f"f is {f!r}, expected a callable f(X, Z) -> matrix.")
        if diag is not None and not callable(diag):
            raise TypeError(f"diag is {diag!r}, expected None or a callable diag(X) -> values.")
        self.f = f
        # scikit-learn reads the parameter `diag` from the attribute of that name, which here is the method.
        self._diag = diag

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; nested ones where f has parameters of its own, as scikit-learn's kernels do."""
        nested = self.f.get_params() if deep and hasattr(self.f, "get_params") and not isinstance(self.f, type) else {}
        return {"f": self.f, "diag": self._diag, **{f"f__{name}": value for name, value in nested.items()}}

    def set_params(self, **params: Any) -> Function:
        if "diag" in params:
            self._diag = params.pop("diag")
        return super().set_params(**params)

    def resolve(self, X: Any) -> Kernel:
        data = self.read(X)
        probe = data[np.linspace(0, len(data) - 1, min(len(data), _PROBE)).astype(int)] if len(data) else data
        if len(probe) > 1:
            self._try_out(probe)
        return self

    def _try_out(self, probe: np.ndarray) -> None:
        whole = self.block(probe, probe)
        if not np.isfinite(whole).all():
            raise ValueError(f"{self._name} returned NaN or infinity on finite rows, expected finite kernel values.")
        tolerance = 1e-5 * max(float(np.abs(whole).max()), np.finfo(float).tiny)
        half = len(probe) // 2
        for rows, cols in ((slice(0, half), slice(half, None)), (slice(0, 1), slice(None))):
            part = self.block(probe[rows], probe[cols])
            if not np.allclose(part, whole[rows, cols], rtol=0, atol=tolerance):
                raise ValueError(
                    f"{self._name} gives other values on some rows than on all: every entry must depend on its own two "
                    "rows only (fix widths and means beforehand), because matrices are computed in blocks."
                )
        if not np.allclose(whole, whole.T, rtol=0, atol=tolerance):
            raise ValueError(f"{self._name} is not symmetric: f(X, Z) must be f(Z, X).T.")

    def gram(self, X: Any, Z: Any = None) -> np.ndarray:
        """Matrix (n, m) by one call of f."""
        left = self.read(X, "X")
        right = left if Z is None or Z is X else self.read(Z, "Z")
        return self.block(left, right, common_dtype(left, right))

    def block(self, X: Any, Z: Any, dtype: Any = np.float64) -> np.ndarray:
        try:
            values = np.asarray(self.f(X, Z))
        except Exception as error:
            raise ValueError(
                f"{self._name} failed on X {np.shape(X)} and Z {np.shape(Z)}, expected a matrix of {len(X)} x {len(Z)} "
                f"numbers; it said {type(error).__name__}: {error}"
            ) from error
        if values.shape != (len(X), len(Z)) or values.dtype.kind not in "biuf":
            what = f"shape {values.shape}" if values.dtype.kind in "biuf" else f"type {values.dtype}"
            raise ValueError(
                f"{self._name} returned {what} for X {np.shape(X)} and Z {np.shape(Z)}, expected a matrix of {len(X)} "
                f"x {len(Z)} numbers."
            )
        return np.array(values, dtype=dtype)

    def diag(self, X: Any) -> np.ndarray:
        if self._diag is None:
            return super().diag(X)
        data = select_columns(X)
        values = np.array(self._diag(data), dtype=np.float64)
        if values.shape != (len(data),):
            raise ValueError(f"diag of {self._name} returned shape {values.shape}, expected ({len(data)},).")
        return values

    @property
    def _name(self) -> str:
        return f"the kernel function {getattr(self.f, '__name__', None) or repr(self.f)}"
