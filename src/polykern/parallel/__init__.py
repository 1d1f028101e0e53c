"""One executor: the same inner function runs on one thread or on several, with the same result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

Block = TypeVar("Block")
Result = TypeVar("Result")


def n_threads(n_jobs: int | None = None) -> int:
    """Threads for `n_jobs`: None is every core this process may use, negative counts back from them as in joblib.

    Worker processes of joblib get their share through OMP_NUM_THREADS, which is honoured here.
    """
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(cpu_count(), int(limit)) if limit.isdigit() and int(limit) > 0 else cpu_count()
    if n_jobs == 0:
        raise ValueError("n_jobs is 0, expected None, a positive number of threads, or -1 for all cores.")
    return n_jobs if n_jobs > 0 else max(1, cpu_count() + 1 + n_jobs)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def run_blocks(function: Callable[[Block], Result], blocks: Iterable[Block], n_jobs: int | None = None) -> list[Result]:
    """`[function(block) for block in blocks]` on several threads, results in order.

    BLAS is held to one thread meanwhile: the blocks are the parallelism.
    """
    work = list(blocks)
    threads = min(n_threads(n_jobs), len(work))
    if threads <= 1:
        return [function(block) for block in work]
    with _blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, work))


def spans(total: int, size: int) -> list[slice]:
    """Consecutive slices of at most `size` that cover range(total)."""
    return [slice(start, min(start + size, total)) for start in range(0, total, max(1, size))]


__all__: list[Any] = ["n_threads", "run_blocks", "spans"]
