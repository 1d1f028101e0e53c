"""Checks the docs: links lead somewhere, tables are up to date, the code of README and recipes runs. `make docs`.

.venv/bin/python docs/check.py            check
.venv/bin/python docs/check.py --write    bring the generated tables up to date
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from tables import generate

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
GENERATED = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end -->)", flags=re.DOTALL)


def pages() -> list[Path]:
    """All Markdown pages of the project."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def broken_links(page: Path) -> list[str]:
    """Relative links of `page` whose file or heading is not there."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [target for target in LINK.findall(text) if not re.match(r"[a-z]+:", target)]
    return [f"{page.relative_to(ROOT)}: {target} is not there" for target in targets if not _exists(page, target)]


def _exists(page: Path, target: str) -> bool:
    place, _, heading = target.partition("#")
    file = (page.parent / place).resolve() if place else page
    return file.exists() and (not heading or heading in _anchors(file))


def _anchors(page: Path) -> set[str]:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def code_blocks(page: Path) -> Iterator[tuple[int, str]]:
    """(line, code) of the Python blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        if block[1] == "python":
            yield text.count("\n", 0, block.start()) + 2, block[2]


def failing_code(page: Path) -> list[str]:
    """Python blocks of `page` that raise; each runs by itself, in an empty folder."""
    failures = []
    for line, code in code_blocks(page):
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.chdir(folder),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            try:
                exec(compile("\n" * (line - 1) + code, str(page), "exec"), {"__name__": "__main__"})
            except Exception as error:
                failures.append(f"{page.relative_to(ROOT)}:{line}: {type(error).__name__}: {error}")
    return failures


def stale_tables(page: Path) -> list[str]:
    """Generated parts of `page` that differ from what would be generated now."""
    current = page.read_text(encoding="utf-8")
    stale = [part[2] for part in GENERATED.finditer(current) if part[3] != generate(part[2])]
    return [f"{page.relative_to(ROOT)}: table {name!r} is stale, run docs/check.py --write" for name in stale]


def write_tables(page: Path) -> None:
    """Bring the generated parts of `page` up to date."""
    current = page.read_text(encoding="utf-8")
    page.write_text(GENERATED.sub(lambda part: part[1] + generate(part[2]) + part[4], current), encoding="utf-8")


def problems() -> list[str]:
    """Everything that is wrong with the docs."""
    found = [problem for page in pages() for problem in broken_links(page) + stale_tables(page)]
    return found + failing_code(ROOT / "README.md") + failing_code(ROOT / "docs" / "recipes.md")


def main() -> int:
    os.environ.setdefault("MPLBACKEND", "agg")
    if "--write" in sys.argv:
        for page in pages():
            write_tables(page)
    found = problems()
    sys.stdout.write("\n".join([*found, f"{len(pages())} pages, {len(found)} problems"]) + "\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
