"""The docs hold what they promise: links, generated tables, and code that runs."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

from architecture._source import ROOT

_spec = importlib.util.spec_from_file_location("docs_check", ROOT / "docs" / "check.py")
check = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check)


@pytest.mark.parametrize("page", check.pages(), ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    assert check.broken_links(page) == []


@pytest.mark.parametrize("page", check.pages(), ids=lambda page: page.name)
def test_generated_tables_are_up_to_date(page):
    assert check.stale_tables(page) == []


def test_a_broken_link_is_found(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("# Head line\n[a](#head-line) [b](nowhere.md) [c](page.md#other)\n```\n[d](in_code.md)\n```\n")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    assert check.broken_links(page) == ["page.md: nowhere.md is not there", "page.md: page.md#other is not there"]


def test_failing_code_and_a_stale_table_are_found(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("```python\n1 / 0\n```\n<!-- generated: support -->\nold\n<!-- end -->\n")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    assert check.failing_code(page) == ["page.md:2: ZeroDivisionError: division by zero"]
    assert check.stale_tables(page) == ["page.md: table 'support' is stale, run docs/check.py --write"]
    check.write_tables(page)
    assert check.stale_tables(page) == []


def test_readme_shows_the_example_that_the_demo_shows():
    (block,) = [code for _, code in check.code_blocks(ROOT / "README.md")]
    assert block == (ROOT / "examples" / "1_start" / "own_data.py").read_text(encoding="utf-8")


def _shown_on(*pages: str):
    texts = [(ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages]
    return {(ROOT / "docs" / target).resolve() for text in texts for target in check.LINK.findall(text)}


def test_the_gallery_lists_every_example_and_every_picture_but_those_of_measurements():
    examples, pictures = {*(ROOT / "examples").glob("*/*.py")}, {*(ROOT / "docs" / "images").glob("*.png")}
    missing = (examples - _shown_on("gallery.md")) | (pictures - _shown_on("gallery.md", "benchmarks.md"))
    assert sorted(str(path.relative_to(ROOT)) for path in missing) == []


def test_the_recipes_run():
    assert check.failing_code(ROOT / "docs" / "recipes.md") == []


@pytest.mark.parametrize("script", ["own_data.py", "demo.py"])
def test_first_examples_run_and_write_their_page(script, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / "1_start" / script],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (page,) = tmp_path.glob("*.html")
    assert page.stat().st_size > 20_000
