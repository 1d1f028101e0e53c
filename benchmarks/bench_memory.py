"""Memory: 200 kernels on 5,000 samples (20 GB as a dense float32 stack) under memory="2GB".

    python benchmarks/bench_memory.py

Trains in a fresh process, measures its peak resident memory and asserts that it stays under 3 GB.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np
from common import save

N, FEATURES, VIEWS, WIDTHS = 5000, 40, 20, 10


def train() -> None:
    """Fit on 20 views of two features each, ten Gaussian widths on each view; one view in four is informative."""
    import polykern as pk
    from polykern.kernels import RBF

    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, FEATURES))
    y = np.sign(np.sin(2 * X[:, 0] * X[:, 1]) + X[:, 8] * X[:, 9] + 0.5 * X[:, 16] + 0.3 * rng.normal(size=N))
    views = [[2 * v, 2 * v + 1] for v in range(VIEWS)]
    kernels = [
        (f"view {v} gamma {2.0**e:g}", RBF(gamma=2.0**e), columns)
        for v, columns in enumerate(views)
        for e in range(-6, WIDTHS - 6)
    ]
    model = pk.MKLClassifier(kernels=kernels, C=1.0, memory="2GB", tol=1e-3)
    start = time.perf_counter()
    model.fit(X, y)
    report = {
        "n": N,
        "kernels": len(kernels),
        "dense stack GB": len(kernels) * N * N * 4 / 1e9,
        "peak RSS GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 3),
        "seconds": round(time.perf_counter() - start, 1),
        "gap": model.result_.gap,
        "status": model.result_.status.name,
        "iterations": model.result_.n_iter,
        "kept": int(np.count_nonzero(model.weights_ > 0)),
        "training accuracy": float(model.score(X[:1000], y[:1000])),
    }
    print(json.dumps(report))


def main() -> None:
    """Train in a process of its own, check, save."""
    done = subprocess.run([sys.executable, __file__, "train"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    report = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(report, indent=1))
    save("memory", report)
    assert report["peak RSS GB"] < 3.0 and report["status"] == "CONVERGED"


if __name__ == "__main__":
    train() if sys.argv[1:] == ["train"] else main()
