"""Checks the docs: links lead somewhere, tables are up to date, the code of README and recipes runs. `make docs`.

.venv/bin/python docs/check.py            check
.venv/bin/python docs/check.py --write    bring the generated tables up to date
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

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
    stale = [part[2] for part in GENERATED.finditer(current) if part[3] != _generate(part[2])]
    return [f"{page.relative_to(ROOT)}: table {name!r} is stale, run docs/check.py --write" for name in stale]


def write_tables(page: Path) -> None:
    """Bring the generated parts of `page` up to date."""
    current = page.read_text(encoding="utf-8")
    page.write_text(GENERATED.sub(lambda part: part[1] + _generate(part[2]) + part[4], current), encoding="utf-8")


def _generate(name: str) -> str:
    tables = {
        "support": _support,
        "auto": _auto,
        "speed": _speed,
        "agreement": _agreement,
        "startup": _startup,
        "memory": _memory,
    }
    return f"\n{tables[name]()}\n\n"


def _support() -> str:
    from polykern import losses, regularizers
    from polykern.problems.support import support_table
    from polykern.solvers.auto import ALL

    kinds = [getattr(losses, name) for name in losses.__all__]
    every_loss = tuple(kind() for kind in kinds if isinstance(kind, type) and kind is not losses.Loss)
    columns = (
        ("`Simplex()`, p = 1", regularizers.Simplex()),
        ("`LpBall(p)`, 1 < p < inf", regularizers.LpBall(p=1.5)),
        ("`LpBall(inf)`, plain sum", regularizers.LpBall(p=float("inf"))),
        ("`GroupNorm(1)`", regularizers.GroupNorm(p=1.0)),
        ("`GroupNorm(p)`, 1 < p <= 2", regularizers.GroupNorm(p=1.5)),
        ("`GroupedNorm(groups, q)`, 1/2 < q < 1", regularizers.GroupedNorm([[0], [1]], q=0.75)),
        ("`GroupedNorm(groups, q)`, q >= 1", regularizers.GroupedNorm([[0], [1]], q=2.0)),
    )
    return support_table(tuple(solver() for solver in ALL), every_loss, columns)


def _auto() -> str:
    from polykern.solvers.auto import RULES

    rows = [f"| {place} | `{rule.solver.__name__}` | {rule.reason} |" for place, rule in enumerate(RULES, start=1)]
    return "\n".join(["| rule | solver | why it comes here |", "| --- | --- | --- |", *rows])


def _results(name: str) -> dict:
    report = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return report | {"said": f"`{report['command']}`, {report['machine']['cores']} cores, {report['date']}."}


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _speed() -> str:
    """One line per problem: seconds to the certified gap at p = 1, 1.25 and 2, and of one SVM on the mean kernel."""
    report = _results("agreement")
    fastest: dict[tuple[str, str], float] = {}
    sizes = {}
    for row in report["results"]:
        key = row["problem"], row["regularizer"]
        fastest[key] = min(row["seconds"], fastest.get(key, float("inf")))
        sizes[row["problem"]] = row["n"], row["kernels"]
    shown = ("p=1", "p=1.25", "p=2", "sum", "mean")
    rows = [
        [name, str(n), str(kernels), *(f"{fastest[name, one]:.3g}" if (name, one) in fastest else "" for one in shown)]
        for name, (n, kernels) in sizes.items()
    ]
    header = ["problem", "n", "kernels", "p = 1", "p = 1.25", "p = 2", "plain sum", "scikit-learn, mean kernel"]
    return _table(header, rows) + f"\n\nSeconds of training to a certified gap of 1e-3. {report['said']}"


def _agreement() -> str:
    """Every solver on every problem."""
    report = _results("agreement")
    rows = [
        [
            row["problem"],
            row["regularizer"],
            row["solver"],
            f"{row['primal']:.6g}",
            f"{row['gap']:.1e}",
            str(row["iterations"]),
            f"{row['kept']} of {row['kernels']}",
            f"{row['seconds']:.3g}",
        ]
        for row in report["results"]
        if "primal" in row
    ]
    header = ["problem", "weights", "solver", "objective", "certified gap", "iterations", "kernels kept", "seconds"]
    return _table(header, rows) + f"\n\n{report['said']}"


def _startup() -> str:
    report = _results("startup")
    rows = [[what, f"{seconds:.2f}"] for what, seconds in report["results"].items()]
    return _table(["", "seconds"], rows) + f"\n\n{report['said']}"


def _memory() -> str:
    report = _results("memory")
    return _table(["", ""], [[what, str(value)] for what, value in report["results"].items()]) + f"\n\n{report['said']}"


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
