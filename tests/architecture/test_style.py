"""Functions are short, take few arguments, and everything public has a docstring and type hints."""

from __future__ import annotations

import ast
import importlib
import inspect

import pytest

from architecture._source import ROOT, functions, parsed
from architecture.public_names import PUBLIC_MODULES

MOST_LINES, MOST_ARGUMENTS, MOST_MEDIAN_LINES = 60, 10, 10


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body, the docstring left out."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def n_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = function.args
    return len(arguments.posonlyargs + arguments.args + arguments.kwonlyargs)


def public_definitions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    """(where, definition) of every function, class and method whose name and surroundings are all public."""
    found = []
    for module, tree in parsed().items():
        if not any(part.startswith("_") for part in module.split(".")):
            found += _public(tree, module)
    return found


def _public(tree: ast.Module | ast.ClassDef, where: str) -> list:
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            found.append((f"{where}:{node.lineno} {node.name}", node))
            found += _public(node, where) if isinstance(node, ast.ClassDef) else []
    return found


def test_bodies_are_short():
    too_long = [f"{where}: {body_lines(node)} lines" for where, node in functions() if body_lines(node) > MOST_LINES]
    assert not too_long
    lengths = sorted(body_lines(node) for _, node in functions())
    assert lengths[len(lengths) // 2] <= MOST_MEDIAN_LINES


def test_arguments_are_few():
    wide = [where for where, node in functions() if node.name != "__init__" and n_arguments(node) > MOST_ARGUMENTS]
    assert not wide


def test_public_functions_and_classes_have_docstrings():
    top_level = [(where, node) for where, node in public_definitions() if node.col_offset == 0]
    assert not [where for where, node in top_level if not ast.get_docstring(node)]


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_methods_of_public_classes_have_docstrings(name):
    module = importlib.import_module(name)
    bare = [
        f"{public}.{method}"
        for public in module.__all__
        if inspect.isclass(thing := getattr(module, public))
        for method, _ in inspect.getmembers(thing, inspect.isfunction)
        if not method.startswith("_") and not _documented(thing, method)
    ]
    assert not bare


def _documented(thing: type, method: str) -> bool:
    # What carries out a contract is documented in the base class.
    return any(inspect.getdoc(vars(base)[method]) for base in thing.__mro__ if method in vars(base))


def test_every_module_says_what_it_is():
    assert not [module for module, tree in parsed().items() if not ast.get_docstring(tree)]


def test_public_functions_have_type_hints():
    bare = []
    for where, node in public_definitions():
        if isinstance(node, ast.ClassDef) or any(ast.unparse(mark).startswith("jit") for mark in node.decorator_list):
            continue
        arguments = [
            a for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs) if a.arg not in ("self", "cls")
        ]
        if node.returns is None or any(argument.annotation is None for argument in arguments):
            bare.append(where)
    assert not bare


def test_nothing_prints():
    calls = [
        f"{module}:{node.lineno}"
        for module, tree in parsed().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not calls


@pytest.mark.parametrize("place", ["Makefile", "pyproject.toml", ".ci/run"])
def test_no_package_registry_is_named(place):
    text = (ROOT / place).read_text(encoding="utf-8").lower()
    assert not [word for word in ("index-url", "pypi.org", "http://", "https://") if word in text]
