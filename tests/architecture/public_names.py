"""Writes the snapshot of the public names, after a deliberate change:

.venv/bin/python tests/architecture/public_names.py
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

PUBLIC_MODULES = (
    "polykern",
    "polykern.bank",
    "polykern.datasets",
    "polykern.inspection",
    "polykern.kernels",
    "polykern.losses",
    "polykern.measures",
    "polykern.problems",
    "polykern.regularizers",
    "polykern.solvers",
    "polykern.weighting",
)
SNAPSHOT = Path(__file__).with_name("public_names.txt")
HEADER = "# Made by: .venv/bin/python tests/architecture/public_names.py"


def live_names() -> list[str]:
    """One line per public name, with its signature where it can be called."""
    lines = []
    for name in PUBLIC_MODULES:
        module = importlib.import_module(name)
        lines += [f"{name}.{public}{_signature(getattr(module, public))}" for public in sorted(module.__all__)]
    return lines


def _signature(thing: object) -> str:
    if not callable(thing) or getattr(thing, "__module__", "").split(".")[0] != "polykern":
        return ""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return ""
    return f"({', '.join(str(parameter.replace(annotation=parameter.empty)) for parameter in parameters)})"


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join([HEADER, *live_names(), ""]), encoding="utf-8")
