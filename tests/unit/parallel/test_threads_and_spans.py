"""How many threads, and how work is cut."""

from __future__ import annotations

import joblib
import pytest

from polykern.parallel import n_threads, spans


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr("polykern.parallel.cpu_count", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 4), (1, 1), (3, 3), (9, 9), (-1, 4), (-2, 3), (-4, 1), (-9, 1)]
)
def test_n_jobs_counts_as_in_joblib(four_cores, n_jobs, expected):
    assert n_threads(n_jobs) == expected


@pytest.mark.parametrize(
    ("limit", "expected"), [("1", 1), ("2", 2), ("64", 4), ("2,1", 2), ("", 4), ("0", 4), ("many", 4)]
)
def test_none_honours_omp_num_threads(four_cores, limit, expected):
    four_cores.setenv("OMP_NUM_THREADS", limit)
    assert n_threads(None) == expected


def test_an_explicit_number_wins_over_omp_num_threads(four_cores):
    four_cores.setenv("OMP_NUM_THREADS", "1")
    assert n_threads(3) == 3


def test_workers_of_joblib_share_the_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    workers = joblib.cpu_count()
    inside = joblib.Parallel(n_jobs=workers)(joblib.delayed(n_threads)(None) for _ in range(2))
    assert inside == [1, 1]


def test_zero_jobs_is_refused():
    with pytest.raises(ValueError, match="n_jobs is 0, expected None, a positive number of threads, or -1"):
        n_threads(0)


@pytest.mark.parametrize("n_jobs", ["2", 1.5])
def test_jobs_that_are_no_whole_number_are_refused(n_jobs):
    with pytest.raises(TypeError, match=f"n_jobs is {n_jobs!r}, expected None or a whole number"):
        n_threads(n_jobs)


@pytest.mark.parametrize("total", [0, 1, 7, 8, 9])
@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_spans_cover_every_index_once_in_order(total, size):
    pieces = spans(total, size)
    assert [index for piece in pieces for index in range(total)[piece]] == list(range(total))
    assert all(0 < piece.stop - piece.start <= size for piece in pieces)


def test_spans_of_size_zero_are_single_indices():
    assert spans(3, 0) == [slice(0, 1), slice(1, 2), slice(2, 3)]
