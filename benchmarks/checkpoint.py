"""Rows of a long benchmark, kept in its result file as they come: a run that was ended goes on where it was.

Every row has a key. The file is written again after every row that is added, in one move, so that it is whole at any
time; the next run finds there the rows that it need not measure. `fresh` begins anew. The file looks like those of
`common.save`, with a line per row under "runs" and what is made of them under "results".
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from common import RESULTS, machine


class Checkpoint:
    """The rows of benchmarks/results/<name>.json by key; `setup` says what they depend on besides it."""

    def __init__(self, name: str, setup: dict, fresh: bool = False) -> None:
        self.path = RESULTS / f"{name}.json"
        self.setup = json.loads(json.dumps(setup))
        self.rows: dict[str, dict] = {} if fresh else self._found()

    def _found(self) -> dict[str, dict]:
        if not self.path.exists():
            return {}
        report = json.loads(self.path.read_text())
        if report["setup"] != self.setup:
            raise ValueError(
                f"{self.path.name} was made with {report['setup']}, and now the setup is {self.setup}: "
                "pass --fresh to begin anew, or move the file away."
            )
        return {row["key"]: row for row in report["runs"]}

    def __contains__(self, key: str) -> bool:
        return key in self.rows

    def add(self, key: str, row: dict) -> None:
        """Keep a row, and write all of them."""
        self.rows[key] = {"key": key} | row
        self.write()

    def drop(self, some: Iterable[str]) -> None:
        """Forget rows, to measure them anew."""
        for key in list(some):
            del self.rows[key]

    def write(self, results: object = None) -> None:
        """All rows, and what is made of them."""
        RESULTS.mkdir(exist_ok=True)
        command = " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])
        head = {"command": command, "date": time.strftime("%Y-%m-%d"), "machine": machine(), "setup": self.setup}
        lines = ",\n".join(json.dumps(row) for row in self.rows.values())
        text = json.dumps(head | {"results": results}, indent=1)[:-2] + f',\n "runs": [\n{lines}\n]\n}}\n'
        half = self.path.with_suffix(".part")
        half.write_text(text)
        os.replace(half, self.path)


def rounded(value: float) -> float:
    """Four digits: what a timing is worth."""
    return float(f"{value:.4g}")
