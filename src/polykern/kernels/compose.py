"""Kernels made of kernels: sums, products, and kernels that read some columns only."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from polykern.kernels.base import Kernel
from polykern.kernels.columns import column_positions, select_columns, take_columns


class _Combined(Kernel):
    """Several kernels on the same samples, entry by entry put together by `operation`."""

    operation: np.ufunc

    def __init__(self, kernels: list[Kernel]) -> None:
        self.kernels = kernels
        self.check_parameters()

    @classmethod
    def of(cls, left: Kernel, right: Kernel) -> Self:
        """Both sides as one flat list: (a + b) + c is Sum([a, b, c])."""
        parts = [list(side.kernels) if type(side) is cls else [side] for side in (left, right)]
        return cls(parts[0] + parts[1])

    def check_parameters(self) -> None:
        owner = type(self).__name__
        if not isinstance(self.kernels, (list, tuple)) or len(self.kernels) == 0:
            raise ValueError(f"{owner}: kernels is {self.kernels!r}, expected a list of at least one kernel.")
        for position, kernel in enumerate(self.kernels):
            if not isinstance(kernel, Kernel):
                raise TypeError(f"{owner}: kernels[{position}] is {_not_a_kernel(kernel)}.")
            kernel.check_parameters()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; those of part i as i__name, so that a grid search reaches them."""
        params: dict[str, Any] = {"kernels": self.kernels}
        for i, kernel in enumerate(self.kernels if deep else ()):
            params[str(i)] = kernel
            params.update({f"{i}__{name}": value for name, value in kernel.get_params().items()})
        return params

    def set_params(self, **params: Any) -> _Combined:
        if "kernels" in params:
            self.kernels = params.pop("kernels")
        replaced = {name: params.pop(name) for name in list(params) if name.isdigit() and int(name) < len(self.kernels)}
        if replaced:
            self.kernels = [replaced.get(str(i), kernel) for i, kernel in enumerate(self.kernels)]
        super().set_params(**params)
        self.check_parameters()
        return self

    @property
    def input_kind(self) -> str:  # type: ignore[override]
        return "indices" if all(kernel.input_kind == "indices" for kernel in self.kernels) else "vectors"

    @property
    def base(self) -> str | None:  # type: ignore[override]
        """The base that all parts share, so that the whole is one function of it."""
        bases = {kernel.base for kernel in self.kernels}
        return bases.pop() if len(bases) == 1 else None

    @property
    def is_resolved(self) -> bool:
        return all(kernel.is_resolved for kernel in self.kernels)

    def resolve(self, X: Any) -> Kernel:
        self.check_parameters()
        resolved = [kernel.resolve(X) for kernel in self.kernels]
        unchanged = all(new is old for new, old in zip(resolved, self.kernels, strict=True))
        return self if unchanged else type(self)(resolved)

    def gram(self, X: Any, Z: Any = None) -> np.ndarray:
        kernel = self._with_numbers(X, Z)
        return _reduce(self.operation, (part.gram(X, Z) for part in kernel.kernels))

    def block(self, X: Any, Z: Any, dtype: Any = np.float64) -> np.ndarray:
        if self.base is not None:
            return super().block(X, Z, dtype)
        return _reduce(self.operation, (kernel.block(X, Z, dtype) for kernel in self.kernels))

    def diag(self, X: Any) -> np.ndarray:
        return _reduce(self.operation, (kernel.diag(X) for kernel in self.kernels))

    def from_base(self, block: np.ndarray, out: np.ndarray) -> None:
        source = block.copy() if np.may_share_memory(block, out) else block
        self.kernels[0].from_base(source, out)
        part = np.empty_like(out)
        for kernel in self.kernels[1:]:
            kernel.from_base(source, part)
            self.operation(out, part, out=out)

    def entry_cost(self, n_features: int) -> float:
        return sum(kernel.entry_cost(n_features) + 1.0 for kernel in self.kernels)


def _not_a_kernel(given: Any) -> str:
    if isinstance(given, np.ndarray):
        return f"an array of shape {given.shape}, expected a kernel: wrap it as kernels.Precomputed(K)"
    return f"{given!r}, expected a kernel; as_kernel makes one of it"


class Sum(_Combined):
    """Sum of kernels.

    k(x, z) = sum_j k_j(x, z)
    """

    operation = np.add


class Product(_Combined):
    """Product of kernels, entry by entry.

    k(x, z) = prod_j k_j(x, z)
    """

    operation = np.multiply


class OnColumns(Kernel):
    """A kernel that reads some columns of X only.

    k(x, z) = kernel(x[columns], z[columns]). `columns`: positions (negative ones from the end), names of a frame, a
    slice, a boolean mask, or a callable such as `sklearn.compose.make_column_selector`. `resolve` turns them into
    positions.
    """

    def __init__(self, kernel: Kernel, columns: Any) -> None:
        self.kernel = kernel
        self.columns = columns
        self.check_parameters()

    def check_parameters(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"OnColumns: kernel is {self.kernel!r}, expected a kernel; as_kernel makes one of it.")
        self.kernel.check_parameters()

    @property
    def is_resolved(self) -> bool:
        return self.kernel.is_resolved

    def resolve(self, X: Any) -> OnColumns:
        self.check_parameters()
        positions = column_positions(_table(X), self.columns)
        kernel = self.kernel.resolve(take_columns(_table(X), positions.tolist()))
        return type(self)(kernel, positions.tolist())

    def gram(self, X: Any, Z: Any = None) -> np.ndarray:
        if Z is None or Z is X:
            return self.kernel.gram(self._take(X))
        return self.kernel.gram(self._take(X), self._take(Z, chosen_on=X))

    def block(self, X: Any, Z: Any, dtype: Any = np.float64) -> np.ndarray:
        left = self._read(X)
        return self.kernel.block(left, left if Z is X else self._read(Z), dtype)

    def diag(self, X: Any) -> np.ndarray:
        return self.kernel.diag(self._take(X))

    def entry_cost(self, n_features: int) -> float:
        return self.kernel.entry_cost(self._width(n_features))

    def _width(self, n_features: int) -> int:
        if callable(self.columns) or isinstance(self.columns, slice):
            return n_features
        return 1 if isinstance(self.columns, (str, int)) else len(self.columns)

    def _read(self, X: Any) -> np.ndarray:
        return self.kernel.read(self._take(X)) if not isinstance(self.kernel, (OnColumns, _Combined)) else self._take(X)

    def _take(self, X: Any, chosen_on: Any = None) -> Any:
        """The columns of X; a callable chooses once, on the first data, so that both sides read the same ones."""
        columns = self.columns
        if callable(columns):
            columns = columns(X if chosen_on is None else chosen_on)
        return take_columns(_table(X), columns)


def peel(kernel: Kernel) -> tuple[Kernel, list[int] | None]:
    """A resolved kernel without its outer OnColumns, and the positions of the columns it reads (None: all).

    Kernels with equal columns then see the same array `select_columns(X, columns)` and can share their base matrices.
    """
    columns: list[int] | None = None
    while isinstance(kernel, OnColumns):
        inner = list(kernel.columns)
        columns = inner if columns is None else [columns[position] for position in inner]
        kernel = kernel.kernel
    return kernel, columns


def _table(X: Any) -> Any:
    """X with two axes known; lists become arrays."""
    return X if hasattr(X, "shape") and len(X.shape) == 2 else select_columns(X)


def _reduce(operation: np.ufunc, parts: Any) -> np.ndarray:
    total = None
    for part in parts:
        if total is None:
            total = part
        elif part.dtype == total.dtype:
            operation(total, part, out=total)
        else:
            total = operation(total, part)
    assert total is not None  # at least one kernel, which check_parameters makes sure of
    return total
