"""Imports go to the left only: the order of the rooms in docs/architecture.md holds, inside functions too."""

from __future__ import annotations

import ast
import re

import pytest

from architecture._source import PACKAGE, ROOT, imports, parsed

# Rooms of one line do not import each other.
ORDER = (
    {"_jit", "parallel"},
    {"kernels", "losses", "regularizers"},
    {"bank"},
    {"problems"},
    {"machines"},
    {"weighting", "solvers"},
    {"measures"},
    {"estimators"},
    {"inspection", "datasets"},
)
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "polykern" and len(parts) > 1 and parts[1] in LEVEL else None


def wrong_imports(module: str, tree: ast.Module) -> list[str]:
    """The imports of `module` that go to the right, or sideways into another room."""
    own = room_of(module)
    found = []
    for line, imported in imports(module, tree):
        room = room_of(imported)
        if own and room and room != own and LEVEL[room] >= LEVEL[own]:
            found.append(f"{module}:{line} imports {imported}: {room} does not stand to the left of {own}")
        if own and imported.split(".")[0] == "polykern" and not room:
            found.append(f"{module}:{line} imports {imported}: rooms import rooms, not the front door")
    return found


def test_every_room_stands_in_the_order():
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= set(LEVEL), f"give {rooms - set(LEVEL)} a place in ORDER and in docs/architecture.md"


def test_the_order_is_the_one_of_the_docs():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^ +(_jit, parallel -> .*)$", text, flags=re.MULTILINE)
    assert [set(re.split(r",\s*", group)) for group in line.strip().split(" -> ")] == list(ORDER)


@pytest.mark.parametrize("module", [name for name in parsed() if room_of(name)])
def test_imports_go_to_the_left(module):
    assert wrong_imports(module, parsed()[module]) == []


@pytest.mark.parametrize(
    ("code", "n_wrong"),
    [
        ("from polykern.kernels import RBF", 0),
        ("from polykern.solvers import SILP", 1),
        ("def late():\n    import polykern.estimators", 1),
        ("from ..estimators import MKLClassifier", 1),
        ("from .. import solvers", 1),
        ("from polykern import MKLClassifier", 1),
        ("if TYPE_CHECKING:\n    from polykern.solvers import SILP", 0),
        ("from . import dense\nfrom polykern.bank.dense import x", 0),
    ],
)
def test_the_rule_itself(code, n_wrong):
    assert len(wrong_imports("polykern.bank.some_file", ast.parse(code))) == n_wrong


def test_rooms_of_one_line_do_not_import_each_other():
    assert wrong_imports("polykern.losses.hinge", ast.parse("from polykern.kernels import RBF"))


def test_numba_has_one_door():
    doors = {
        module
        for module, tree in parsed().items()
        for _, imported in imports(module, tree)
        if imported.split(".")[0] == "numba" and not module.startswith("polykern._jit")
    }
    assert not doors, f"{doors} import numba; everything compiled goes through polykern._jit.jit"
