"""Shared by all tests."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def headless_matplotlib():
    """No test opens a window."""
    patch = pytest.MonkeyPatch()
    patch.setenv("MPLBACKEND", "agg")
    yield
    patch.undo()
