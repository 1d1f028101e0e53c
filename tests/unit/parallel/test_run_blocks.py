"""run_blocks is the list comprehension, whatever the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from polykern.parallel import run_blocks


def blas_threads() -> dict[str, int]:
    """Threads of every BLAS in this process; others than NumPy's come in with libraries that bundle their own."""
    libraries = [library for library in ThreadpoolController().info() if library["user_api"] == "blas"]
    return {library["filepath"]: library["num_threads"] for library in libraries}


@pytest.fixture
def two_blas_threads():
    """What the libraries have when they are asked for two: some are built for one and stay there."""
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        asked = blas_threads()
        assert 2 in asked.values(), "no BLAS here can have two threads: the tests below would show nothing"
        yield asked


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, -1])
@pytest.mark.parametrize("n_blocks", [0, 1, 2, 17])
def test_equals_the_list_comprehension(n_jobs, n_blocks):
    assert run_blocks(lambda block: block * block, range(n_blocks), n_jobs) == [
        block * block for block in range(n_blocks)
    ]


def test_results_keep_the_order_of_the_blocks_not_of_their_end():
    def slow_first(block: int) -> int:
        time.sleep(0.05 if block == 0 else 0.0)
        return block

    assert run_blocks(slow_first, range(6), n_jobs=3) == list(range(6))


def test_blocks_run_side_by_side():
    meeting = threading.Barrier(2, timeout=10)  # breaks, and raises, unless two blocks are inside at once
    assert sorted(run_blocks(lambda _: meeting.wait(), range(2), n_jobs=2)) == [0, 1]


def test_one_thread_runs_in_the_calling_thread():
    assert run_blocks(lambda _: threading.get_ident(), range(3), n_jobs=1) == [threading.get_ident()] * 3


def test_first_exception_is_raised_and_waiting_blocks_are_dropped():
    begun = []

    def fail(block: int) -> None:
        begun.append(block)
        if block == 0:
            raise ValueError("block 0 is bad")
        time.sleep(0.01)

    with pytest.raises(ValueError, match="block 0 is bad"):
        run_blocks(fail, range(500), n_jobs=2)
    assert len(begun) < 500


def test_blas_has_one_thread_inside_and_its_own_number_after(two_blas_threads):
    inside = run_blocks(lambda _: blas_threads(), range(2), n_jobs=2)
    assert inside == [dict.fromkeys(two_blas_threads, 1)] * 2
    assert blas_threads() == two_blas_threads


def test_blas_limit_is_lifted_after_an_exception(two_blas_threads):
    with pytest.raises(ZeroDivisionError):
        run_blocks(lambda block: 1 / block, range(2), n_jobs=2)
    assert blas_threads() == two_blas_threads


OVERLAPPING_CALLS = """
import threading, numpy, scipy.linalg
from threadpoolctl import ThreadpoolController
from polykern.parallel import run_blocks

def blas_threads():
    return {library["num_threads"] for library in ThreadpoolController().info() if library["user_api"] == "blas"}

first_is_in, second_is_in, first_is_out = threading.Event(), threading.Event(), threading.Event()

def first_block(_):
    first_is_in.set()
    assert second_is_in.wait(20)

def second_block(_):
    second_is_in.set()
    assert first_is_out.wait(20)

def first():
    run_blocks(first_block, range(2), n_jobs=2)
    first_is_out.set()

def second():
    assert first_is_in.wait(20)
    run_blocks(second_block, range(2), n_jobs=2)

assert blas_threads() == {2}, blas_threads()
calls = [threading.Thread(target=call) for call in (first, second)]
[call.start() for call in calls]
[call.join(30) for call in calls]
assert first_is_out.is_set() and blas_threads() == {2}, blas_threads()
assert run_blocks(lambda _: blas_threads(), range(2), n_jobs=2) == [{1}, {1}]
assert blas_threads() == {2}, blas_threads()
"""


def test_overlapping_calls_leave_the_number_of_blas_threads_as_it_was():
    # In a process of its own: BLAS reads its number of threads once, when it is loaded.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", OVERLAPPING_CALLS], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_block_may_run_blocks_itself():
    def outer(block: int) -> list[int]:
        return run_blocks(lambda inner: block + inner, range(3), n_jobs=2)

    assert run_blocks(outer, [0, 10], n_jobs=2) == [[0, 1, 2], [10, 11, 12]]


def test_threads_write_disjoint_parts_of_one_array():
    out = np.zeros(1000)

    def fill(block: int) -> None:
        out[block::7] = block

    run_blocks(fill, range(7), n_jobs=2)
    np.testing.assert_array_equal(out, np.arange(1000) % 7)
