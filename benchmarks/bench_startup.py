"""Start-up: import, and the first fit in a new process, with a warm cache of compiled code and without any.

    python benchmarks/bench_startup.py

Wall seconds of fresh interpreters, median of several. Asserts the limits: import under 0.5 s beyond that of the
dependencies, first fit of 200 x 5 under 1.5 s with a warm cache, under 30 s on the very first run ever (empty cache).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from common import save

DEPENDENCIES = "import numpy, scipy, sklearn, numba, highspy"
TIMED = "import time; _t = time.perf_counter()\n{body}\nprint(time.perf_counter() - _t)"
FIT = """
import numpy as np, polykern as pk
X = np.random.default_rng(0).normal(size=(200, 5)); y = X[:, 0] * X[:, 1] > 0
pk.MKLClassifier().fit(X, y)
"""


def seconds(body: str, setup: str = "", cache: str | None = None) -> float:
    """Seconds that `body` takes in a fresh interpreter after `setup`."""
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {})}
    code = setup + "\n" + TIMED.format(body=body)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout.split()[-1])


def median(body: str, repeats: int = 5, **arguments) -> float:
    """Median over fresh interpreters."""
    return statistics.median(seconds(body, **arguments) for _ in range(repeats))


def main() -> None:
    """Measure, check, save."""
    with tempfile.TemporaryDirectory() as cache:
        first_ever = seconds(FIT, cache=cache)
        rows = {
            "import polykern, dependencies imported before": median("import polykern", setup=DEPENDENCIES),
            "import polykern alone": median("import polykern"),
            "first fit 200 x 5 incl. all imports, warm cache": median(FIT, cache=cache),
            "first fit 200 x 5, dependencies imported before, warm cache": median(FIT, setup=DEPENDENCIES, cache=cache),
            "first fit 200 x 5 ever (empty cache)": first_ever,
        }
    for what, took in rows.items():
        print(f"{took:8.3f} s  {what}")
    save("startup", rows)
    assert rows["import polykern, dependencies imported before"] < 0.5
    assert rows["first fit 200 x 5, dependencies imported before, warm cache"] < 1.5
    assert first_ever < 30


if __name__ == "__main__":
    main()
