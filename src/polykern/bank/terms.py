"""Normalization on blocks and on vectors.

    normalized K(x, z) = scale * factor_x * factor_z * (K(x, z) - shift_x - shift_z + offset)

The scale is one number per kernel and is left to whoever sums kernels up: it joins the weight, so no block is ever
multiplied by it. The other terms go into blocks (`apply_terms`) or, for a product with a vector, into the vector
(`Wrapped`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polykern.bank.indexing import Rows


class Terms(Protocol):
    """What the bank reads of a `kernels.normalizers.Normalization`."""

    @property
    def scale(self) -> float: ...
    @property
    def offset(self) -> float: ...
    @property
    def shift(self) -> NDArray[Any] | None: ...
    @property
    def factor(self) -> NDArray[Any] | None: ...
    def take(self, idx: Any) -> Terms: ...


@dataclass(frozen=True)
class Plain:
    """The normalization that changes nothing."""

    scale: float = 1.0
    offset: float = 0.0
    shift: NDArray[Any] | None = None
    factor: NDArray[Any] | None = None

    def take(self, idx: Any) -> Plain:
        """The same for any samples."""
        return self


def has_terms(terms: Terms) -> bool:
    """Whether there is more to it than a scale."""
    return terms.shift is not None or terms.factor is not None or terms.offset != 0.0


def apply_terms(block: NDArray[Any], terms: Terms, rows: Rows, cols: Rows) -> NDArray[Any]:
    """Everything but the scale, in place: factor_x * factor_z * (block - shift_x - shift_z + offset)."""
    if terms.shift is not None:
        block -= terms.shift[rows].astype(block.dtype)[:, None]
        block -= (terms.shift[cols] - terms.offset).astype(block.dtype)
    elif terms.offset:
        block += block.dtype.type(terms.offset)
    if terms.factor is not None:
        block *= terms.factor[rows].astype(block.dtype)[:, None]
        block *= terms.factor[cols].astype(block.dtype)
    return block


@dataclass(frozen=True)
class Wrapped:
    """A product with a normalized matrix, made from a product with the matrix as it is stored.

    With c' = factor * coef:   K~ coef = factor * (K c' - shift * sum(c') - (shift . c') + offset * sum(c'))
    """

    terms: Terms
    coef: NDArray[np.float64]

    @cached_property
    def inner(self) -> NDArray[np.float64]:
        """c', the vector that meets the stored matrix."""
        return self.coef if self.terms.factor is None else self.terms.factor[:, None] * self.coef

    def outer(self, product: NDArray[Any], rows: Rows) -> NDArray[Any]:
        """Rows of K~ coef (without the scale) from the same rows of K c'."""
        terms, inner = self.terms, self.inner
        if terms.shift is not None:
            product = product - terms.shift[rows][:, None] * inner.sum(axis=0) - terms.shift @ inner
        if terms.offset:
            product = product + terms.offset * inner.sum(axis=0)
        return product if terms.factor is None else terms.factor[rows][:, None] * product

    @cached_property
    def form_correction(self) -> float:
        """trace(coef' K~ coef) - trace(c'' K c'), without the scale."""
        if self.terms.shift is None and not self.terms.offset:
            return 0.0
        total = self.inner.sum(axis=0)
        shifted = 0.0 if self.terms.shift is None else self.terms.shift @ self.inner
        return float(np.sum(total * (self.terms.offset * total - 2.0 * shifted)))
