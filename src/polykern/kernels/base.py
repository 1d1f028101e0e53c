"""The contract of a kernel, and the loop over row blocks that fills a Gram matrix on all cores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from polykern.kernels.columns import select_columns
from polykern.kernels.pairwise import base_block
from polykern.parallel import run_blocks, spans

_BLOCK_ENTRIES = 1 << 19  # entries per row block of a Gram matrix
_DIAGONAL_ROWS = 64  # rows per block where a diagonal must be read off blocks


class Kernel(BaseEstimator):
    """A positive semidefinite function of two samples: pure, without labels, weights or cache.

    A kernel of one's own needs `block` and, for speed, `diag`; or `base` and `from_base` where it is a function of
    one of the matrices in `polykern.kernels.pairwise`. Every entry may depend on its own two samples only: matrices
    are computed in blocks.
    """

    input_kind: str = "vectors"
    base: str | None = None

    def check_parameters(self) -> None:
        """Raise if a parameter is out of its range."""

    @property
    def is_resolved(self) -> bool:
        """Whether all parameters are numbers, none left to be read off data."""
        return True

    def resolve(self, X: Any) -> Kernel:
        """The kernel with data-dependent parameters (gamma="scale") turned into numbers: a new object, or self."""
        self.check_parameters()
        return self

    def gram(self, X: Any, Z: Any = None) -> np.ndarray:
        """Matrix (n, m) of kernel values between the rows of X and of Z (default X).

        float32 if all data are float32, otherwise float64. Data-dependent parameters are read off X where Z is not
        given; with Z they must be numbers already, so that training and new data can never disagree:
        `kernel.resolve(X_train).gram(X, Z)`.
        """
        kernel = self._with_numbers(X, Z)
        left = kernel.read(X, "X")
        right = left if Z is None or Z is X else kernel.read(Z, "Z")
        out = np.empty((len(left), len(right)), dtype=common_dtype(left, right))

        def fill(rows: slice) -> None:
            if kernel.base is None:
                out[rows] = kernel.block(left[rows], right, out.dtype)
            else:
                kernel.from_base(base_block(kernel.base, left[rows], right, out.dtype), out[rows])

        run_blocks(fill, spans(len(left), max(1, _BLOCK_ENTRIES // max(1, len(right)))))
        if right is left:  # blocks do not know where the diagonal is, and the diagonal is known exactly
            np.fill_diagonal(out, kernel.diag(left))
        return out

    def _with_numbers(self, X: Any, Z: Any) -> Kernel:
        self.check_parameters()
        if Z is None or Z is X or self.is_resolved:
            return self.resolve(X)
        raise ValueError(
            f"{self!r} reads parameters off the training data, so that gram(X, Z) is ambiguous: "
            "call kernel.resolve(X_train).gram(X, Z)."
        )

    def read(self, X: Any, label: str = "X") -> np.ndarray:
        """X as the array that `block` and `diag` work on."""
        return select_columns(X, None, label)

    def block(self, X: Any, Z: Any, dtype: Any = np.float64) -> np.ndarray:
        """Matrix (n, m) of a resolved kernel on one thread: what the bank calls, from its own threads. A new array."""
        if self.base is not None:
            out = base_block(self.base, X, Z, dtype)
            self.from_base(out, out)
            return out
        if type(self).gram is Kernel.gram:
            raise NotImplementedError(
                f"{type(self).__name__} must define block(X, Z, dtype), or base with from_base(block, out)."
            )
        return np.array(self.gram(X, Z), dtype=dtype)

    def diag(self, X: Any) -> np.ndarray:
        """Kernel values (n,) of every row with itself, float64."""
        kernel = self._with_numbers(X, X)
        data = kernel.read(X)
        parts = [np.diagonal(kernel.block(data[rows], data[rows])) for rows in spans(len(data), _DIAGONAL_ROWS)]
        return np.concatenate(parts) if parts else np.empty(0)

    def from_base(self, block: np.ndarray, out: np.ndarray) -> None:
        """Kernel values from a block of the base matrix, written into out (same shape; may be block itself)."""
        raise NotImplementedError(
            f"{type(self).__name__} is not a function of a shared base matrix: use block or gram."
        )

    def entry_cost(self, n_features: int) -> float:
        """Rough cost of one entry in multiply-adds, for the memory plan; the default is that of a Python callable."""
        return 4.0 * n_features + 100.0

    def __add__(self, other: Any) -> Any:
        from polykern.kernels.compose import Sum

        return Sum.of(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        from polykern.kernels.compose import Product

        return Product.of(self, other) if isinstance(other, Kernel) else NotImplemented


def common_dtype(X: Any, Z: Any) -> np.dtype:
    """float32 where both sides are float32, otherwise float64."""
    both_single = getattr(X, "dtype", None) == np.float32 and getattr(Z, "dtype", None) == np.float32
    return np.dtype(np.float32 if both_single else np.float64)
