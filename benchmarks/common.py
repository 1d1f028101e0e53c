"""What every benchmark shares: where real data lie, the machine's facts, results as small JSON files."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("POLYKERN_DATA", ROOT.parent / "shared" / "data"))
RESULTS = Path(__file__).resolve().parent / "results"


def load(name: str) -> dict[str, np.ndarray]:
    """The arrays of one real data set (POLYKERN_DATA says where they lie)."""
    path = DATA / f"{name}.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path.name} is not in {DATA}; set POLYKERN_DATA to the folder that holds it.")
    return dict(np.load(path, allow_pickle=False))


def machine() -> dict[str, object]:
    """Facts that a reader needs to place a timing."""
    import numba
    import scipy
    import sklearn

    return {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": numba.__version__,
    }


def save(name: str, rows: object) -> None:
    """Write benchmarks/results/<name>.json with the command and the machine, and show the rows."""
    RESULTS.mkdir(exist_ok=True)
    command = " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    report = {"command": command, "date": time.strftime("%Y-%m-%d"), "machine": machine(), "results": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")


def best_of(function, repeats: int = 3, clock=time.perf_counter) -> tuple[float, float]:
    """Fastest and slowest seconds of several calls, by the wall or another clock."""
    seconds = []
    for _ in range(repeats):
        start = clock()
        function()
        seconds.append(clock() - start)
    return min(seconds), max(seconds)
