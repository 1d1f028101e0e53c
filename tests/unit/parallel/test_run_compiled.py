"""run_compiled is the list comprehension on threads that stay."""

from __future__ import annotations

import os
import threading
import time

import pytest

from polykern.parallel import run_compiled


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3])
@pytest.mark.parametrize("n_pieces", [0, 1, 2, 17])
def test_equals_the_list_comprehension(n_jobs, n_pieces):
    assert run_compiled(lambda piece: piece * piece, range(n_pieces), n_jobs) == [k * k for k in range(n_pieces)]


def test_threads_stay_between_calls():
    first, second = (set(run_compiled(lambda _: threading.get_ident(), range(20), 2)) for _ in range(2))
    assert threading.get_ident() not in first and len(first | second) <= 2


def test_nobody_works_on_after_an_exception():
    running = []

    def work(piece):
        if piece == 0:
            raise ValueError("piece 0 is bad")
        running.append(piece)
        time.sleep(0.01)
        running.remove(piece)

    with pytest.raises(ValueError, match="piece 0 is bad"):
        run_compiled(work, range(50), 2)
    assert running == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the threads of a parent do not exist in a forked child")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_makes_its_own_threads():
    run_compiled(lambda piece: piece, range(4), 2)
    child = os.fork()
    if child == 0:
        os._exit(0 if run_compiled(lambda piece: piece, range(4), 2) == [0, 1, 2, 3] else 1)
    deadline = time.monotonic() + 20
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert done == (child, 0)
