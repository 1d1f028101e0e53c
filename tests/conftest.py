"""Shared by all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("polykern", deadline=None)
settings.load_profile("polykern")


@pytest.fixture(scope="session", autouse=True)
def headless_matplotlib():
    """No test opens a window."""
    patch = pytest.MonkeyPatch()
    patch.setenv("MPLBACKEND", "agg")
    yield
    patch.undo()
