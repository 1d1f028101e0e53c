"""Rows in a cache counted in bytes."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polykern.bank import RowCache


def row(value, n=10):
    return np.full(n, float(value))


def test_the_row_used_longest_ago_goes_first():
    cache = RowCache(3 * 80)
    for k in range(3):
        cache.put(k, row(k))
    assert cache.get(0)[0] == 0
    cache.put(3, row(3))
    assert 1 not in cache
    assert all(k in cache for k in (0, 2, 3))
    assert cache.get(1) is None
    assert (cache.hits, cache.misses) == (1, 1)


def test_other_weights_forget_everything():
    cache = RowCache(1000)
    cache.use_weights([1.0, 2.0])
    cache.put(5, row(5))
    cache.use_weights(np.array([1.0, 2.0]))
    assert 5 in cache
    cache.use_weights([1.0, 2.5])
    assert len(cache) == 0
    assert cache.nbytes == 0


def test_a_row_of_a_block_does_not_keep_the_block():
    cache, block = RowCache(1000), np.ones((50, 10))
    cache.put(1, block[3])
    block[3] = 7.0
    assert cache.get(1)[0] == 1.0
    assert cache.get(1).base is None


def test_rows_too_large_and_wrong_sizes():
    cache = RowCache(79)
    cache.put(0, row(0))
    assert len(cache) == 0
    with pytest.raises(ValueError, match="max_bytes is -1"):
        RowCache(-1)


def test_fetch_computes_what_is_missing():
    cache, asked = RowCache(1000), []

    def compute(k):
        asked.append(k)
        return row(k)

    assert [cache.fetch(k, compute)[0] for k in (1, 2, 1)] == [1, 2, 1]
    assert asked == [1, 2]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.integers(1, 4)), max_size=60), st.integers(0, 100))
def test_it_behaves_like_a_list_of_rows_in_order_of_use(steps, room):
    cache, model = RowCache(room), OrderedDict()
    for write, key, size in steps:
        if write:
            cache.put(key, row(key, size))
            model.pop(key, None)
            if 8 * size <= room:
                while sum(model.values()) + 8 * size > room:
                    model.popitem(last=False)
                model[key] = 8 * size
        else:
            assert (cache.get(key) is not None) == (key in model)
            if key in model:
                model.move_to_end(key)
        assert cache.nbytes == sum(model.values()) <= room
        assert len(cache) == len(model)
