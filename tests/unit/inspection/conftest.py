"""Subjects of the pictures."""

from __future__ import annotations

import pytest

from oracles.hand_made_result import Model, make_result
from polykern.problems.result import MKLResult


@pytest.fixture
def result() -> MKLResult:
    return make_result()


@pytest.fixture
def model(result) -> Model:
    return Model(result)


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()
