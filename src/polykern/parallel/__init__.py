"""One executor: the same inner function runs on one thread or on several, with the same result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from numbers import Integral
from threading import Lock
from typing import TypeVar

import joblib
from threadpoolctl import ThreadpoolController

Block = TypeVar("Block")
Result = TypeVar("Result")


@cache
def cpu_count() -> int:
    """Cores this process may use (affinity and container limits included), looked up once: it reads several files."""
    return int(joblib.cpu_count())


def n_threads(n_jobs: int | None = None) -> int:
    """Threads for `n_jobs`: None is every core this process may use, negative counts back from them as in joblib.

    Worker processes of joblib get their share through OMP_NUM_THREADS, which is honoured here.
    """
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
        return min(cpu_count(), int(limit)) if limit.isdigit() and int(limit) > 0 else cpu_count()
    if not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs is {n_jobs!r}, expected None or a whole number of threads (-1 for all cores).")
    if n_jobs == 0:
        raise ValueError("n_jobs is 0, expected None, a positive number of threads, or -1 for all cores.")
    return int(n_jobs) if n_jobs > 0 else max(1, cpu_count() + 1 + int(n_jobs))


@cache
def _blas() -> ThreadpoolController:
    # Finding the libraries costs milliseconds, setting their limit microseconds; NumPy's and SciPy's are loaded by now.
    return ThreadpoolController()


_WORTH_THREADS = 1 << 18

# Who holds this has set the limit of BLAS threads, which is one per process.
_limit_is_set = Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS held to one thread inside.

    Of calls that overlap (threads of a grid search), only the first sets the limit, and the same thread lifts it: each
    restoring what it found would leave the limit behind for good. The others run on under its limit.
    """
    if not _limit_is_set.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limit_is_set.release()


def run_blocks(function: Callable[[Block], Result], blocks: Iterable[Block], n_jobs: int | None = None) -> list[Result]:
    """`[function(block) for block in blocks]` on several threads, results in order.

    BLAS is held to one thread meanwhile: the blocks are the parallelism. The first exception of a block is raised, and
    the blocks that have not begun by then are dropped.
    """
    work = list(blocks)
    threads = min(n_threads(n_jobs), len(work))
    if threads <= 1:
        return [function(block) for block in work]
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, work))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="polykern")


# Threads do not survive a fork: the child makes its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def run_compiled(
    function: Callable[[Block], Result], pieces: Iterable[Block], n_jobs: int | None = None
) -> list[Result]:
    """`run_blocks` for pieces of a millisecond: threads that stay between calls, and BLAS is left alone.

    For compiled code that releases the GIL, calls no BLAS and waits for nobody: all callers share the threads.
    """
    work = list(pieces)
    threads = min(n_threads(n_jobs), len(work))
    if threads <= 1:
        return [function(piece) for piece in work]
    futures = [_pool(threads).submit(function, piece) for piece in work]
    try:
        return [future.result() for future in futures]
    finally:  # after an exception or Ctrl-C nobody may still be writing
        for future in futures:
            future.cancel()
        wait(futures)


def worth_threads(n_jobs: int | None, work: int) -> int | None:
    """`n_jobs`, or 1 where `work`, in numbers to touch, is so little that starting threads costs more than it saves."""
    return n_jobs if work > _WORTH_THREADS else 1


def spans(total: int, size: int) -> list[slice]:
    """Consecutive slices of at most `size` that cover range(total)."""
    step = max(1, size)
    return [slice(start, min(start + step, total)) for start in range(0, total, step)]


__all__ = ["n_threads", "one_blas_thread", "run_blocks", "run_compiled", "spans", "worth_threads"]
