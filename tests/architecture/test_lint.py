"""`make lint` is green: ruff, mypy and codespell say nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from architecture._source import ROOT

TOOLS = {
    "ruff check": ["ruff", "check", "."],
    "ruff format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy"],
    "codespell": ["codespell"],
}


@pytest.mark.parametrize("tool", TOOLS)
def test_says_nothing(tool):
    command, *arguments = TOOLS[tool]
    executable = Path(sys.executable).with_name(command)
    if not executable.exists():
        pytest.skip(f"{command} is not installed beside this Python; it comes with the dev extra")
    done = subprocess.run([executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_make_lint_runs_the_same_commands():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in TOOLS.values():
        assert f"\t$(BIN)/{' '.join(command)}\n" in makefile
