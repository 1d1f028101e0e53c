"""How much work a bank has done: the currency in which solvers are compared."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class Counts:
    """Work: products of one kernel matrix with one vector, and bytes of kernel entries that were read or computed.

    `scores` and `quad_forms` count one product per kernel and column of coef; `combine` counts one per kernel whose
    weight is not zero; `rows` and `blocks` count the share of the matrix that they touch in bytes alone.
    """

    n_kernel_products: int = 0
    bytes_moved: int = 0


class Tally:
    """A running count that several threads may add to."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._products = 0
        self._bytes = 0

    def __repr__(self) -> str:
        return f"Tally(n_kernel_products={self._products}, bytes_moved={self._bytes})"

    def __reduce__(self) -> tuple[type[Tally], tuple[()]]:
        return type(self), ()  # a lock does not travel, and a bank elsewhere starts to count anew

    @property
    def n_kernel_products(self) -> int:
        """Products of one kernel with one vector so far."""
        return self._products

    @property
    def bytes_moved(self) -> int:
        """Bytes of kernel entries read or computed so far."""
        return self._bytes

    def add(self, products: int, moved: int) -> None:
        """Count one more operation."""
        with self._lock:
            self._products += int(products)
            self._bytes += int(moved)

    def snapshot(self) -> Counts:
        """The counts as they are now."""
        with self._lock:
            return Counts(self._products, self._bytes)

    def since(self, before: Counts) -> Counts:
        """What has been added since a snapshot."""
        now = self.snapshot()
        return Counts(now.n_kernel_products - before.n_kernel_products, now.bytes_moved - before.bytes_moved)
