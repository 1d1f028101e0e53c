"""Where each kernel of a bank is kept, and why.

Memory goes first to what everybody needs (the data, the buffers of a pass, the combined matrix), then to the kernels
that cost most to compute again. Of the rest, the cheap ones are computed when they are asked for, the others go to a
file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polykern.bank.budget import format_bytes
from polykern.bank.computed import SHARE_BYTES, TILE_COLS, TILE_ROWS
from polykern.bank.memmap import PASS_BYTES
from polykern.bank.products import PANEL_ENTRIES

# Multiply-adds per entry beyond which reading a file beats computing again: about what a core does while 4 bytes come
# from a disk.
COSTLY = 100.0  # an estimate, not tuned
# Rows of the combined matrix without which no machine can work.
FEWEST_ROWS = 16
# Blocks of one tile that a thread holds at once: the base in float64, the kernel, its term in a sum.
BLOCKS_PER_THREAD = 3

SHARED, DENSE, ON_THE_FLY, MEMMAP, NULL, DUPLICATE = "shared", "dense", "on the fly", "memmap", "zero", "same as"


@dataclass(frozen=True)
class Request:
    """What the plan must know of a kernel."""

    name: str
    description: str
    cost: float  # multiply-adds per entry
    family: int  # kernels that share the base of their blocks
    shared: bool = False  # a matrix of the user's


@dataclass(frozen=True)
class Decision:
    """Where one kernel is kept."""

    storage: str
    nbytes: int
    reason: str


_OF_THE_USER = Decision(SHARED, 0, "precomputed: the user's matrix, not copied")


@dataclass(frozen=True)
class Sizes:
    """What a bank needs besides its kernels, in bytes."""

    n_samples: int
    itemsize: int
    data: int
    buffers: int
    window: int = 0  # pages of files that threads have in hand, where there are files

    @property
    def matrix(self) -> int:
        """One (n, n) matrix."""
        return self.n_samples**2 * self.itemsize

    @property
    def least(self) -> int:
        """The smallest budget that works: data, buffers and a few rows."""
        return self.data + self.buffers + min(FEWEST_ROWS, self.n_samples) * self.n_samples * self.itemsize


@dataclass(frozen=True)
class Plan:
    """One decision per kernel, and what is left over."""

    decisions: tuple[Decision, ...]
    budget: int
    sizes: Sizes
    fits_combined: bool

    @property
    def dense_bytes(self) -> int:
        """Bytes of the matrices in memory."""
        return sum(one.nbytes for one in self.decisions if one.storage == DENSE)

    @property
    def used(self) -> int:
        """Bytes the bank accounts for, the combined matrix among them."""
        combined = self.sizes.matrix if self.fits_combined else 0
        window = self.sizes.window if any(one.storage == MEMMAP for one in self.decisions) else 0
        return self.sizes.data + self.sizes.buffers + self.dense_bytes + combined + window

    @property
    def spare(self) -> int:
        """Bytes of the budget that nobody uses."""
        return max(0, self.budget - self.used)


def buffer_bytes(n_kernels: int, n_samples: int, threads: int) -> int:
    """Working memory of a pass: the blocks of every thread, and the partial sums of a product with one vector."""
    tile = min(n_samples, TILE_ROWS) * min(n_samples, TILE_COLS) * 8
    panel = 8 * min(n_samples**2, PANEL_ENTRIES)
    sums = 8 * n_kernels * n_samples
    return threads * (BLOCKS_PER_THREAD * tile + panel) + max(2 * sums, min(SHARE_BYTES, 8 * sums))


def window_bytes(threads: int) -> int:
    """Pages of files in hand: what threads read at once, and as much again that the system reads ahead."""
    return 2 * threads * PASS_BYTES


def make_plan(requests: Sequence[Request], sizes: Sizes, budget: int, disk: int) -> Plan:
    """Decide for every kernel; `disk` is what is free where temporary files go."""
    if budget < sizes.least:
        raise ValueError(
            f"memory is {format_bytes(budget)}, but {len(requests)} kernels on {sizes.n_samples} samples need at least "
            f"{format_bytes(sizes.least)} for data, buffers and a few rows; pass memory='{_round_up(sizes.least)}' "
            "or more, or fewer samples."
        )
    fits = budget >= sizes.least + sizes.matrix
    room = budget - sizes.least - (sizes.matrix if fits else 0)
    dense = _most_expensive(requests, room // max(1, sizes.matrix))
    shares = shares_of(requests)
    if any(shares[k] > COSTLY and k not in dense and not one.shared for k, one in enumerate(requests)):
        # These go to a file, and its pages need room too.
        dense = _most_expensive(requests, max(0, room - sizes.window) // max(1, sizes.matrix))
    decisions = [_decide(one, k in dense, sizes, shares[k]) for k, one in enumerate(requests)]
    return Plan(_within_disk(decisions, disk), budget, sizes, fits)


def shares_of(requests: Sequence[Request]) -> list[float]:
    """Cost per entry where the whole family is computed at once: the base is paid for once."""
    sizes: dict[int, int] = {}
    for one in requests:
        sizes[one.family] = sizes.get(one.family, 0) + 1
    return [one.cost / sizes[one.family] for one in requests]


def _most_expensive(requests: Sequence[Request], places: int) -> set[int]:
    """The kernels that go into memory: the costliest first, families together."""
    shares = shares_of(requests)
    candidates = [k for k, one in enumerate(requests) if not one.shared]
    return set(sorted(candidates, key=lambda k: (-shares[k], requests[k].family, k))[:places])


def _decide(request: Request, dense: bool, sizes: Sizes, share: float) -> Decision:
    if request.shared:
        return _OF_THE_USER
    if dense:
        return Decision(DENSE, sizes.matrix, "fits into memory")
    if share > COSTLY:
        return Decision(
            MEMMAP, sizes.matrix, f"no room in memory, costly to compute again ({share:.0f} multiply-adds per entry)"
        )
    return Decision(ON_THE_FLY, 0, f"no room in memory, cheap to compute again ({share:.0f} multiply-adds per entry)")


def _within_disk(decisions: Sequence[Decision], disk: int) -> tuple[Decision, ...]:
    """Half of the free disk is left to others; kernels that do not fit there are computed after all."""
    left, settled = disk // 2, []
    for one in decisions:
        if one.storage == MEMMAP and one.nbytes > left:
            one = Decision(ON_THE_FLY, 0, "no room in memory nor on disk (TMPDIR): computed again in every pass, slow")
        elif one.storage == MEMMAP:
            left -= one.nbytes
        settled.append(one)
    return tuple(settled)


def _round_up(amount: int) -> str:
    """Bytes as text that `parse_memory` reads as at least as much."""
    return f"{-(-amount // 10**6)}MB"
