"""Other packages: solvers of the literature on one core in CPU seconds, and what a package index offers by accuracy.

The figures of the first part were measured once with the packages named, on one core, on the problems below; they are
brought to this machine by the ratio of the SVC's seconds, measured then and now. The second part runs here: MKLpy and
himalaya in the interpreter that POLYKERN_PEERS_PYTHON names (this one, unless said otherwise; extra "bench").
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import problems
from floor import measure_floor

from polykern import MKLClassifier, regularizers
from polykern.bank import build_bank
from polykern.kernels import Precomputed
from polykern.solvers.auto import Auto

HERE = Path(__file__).resolve().parent
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

# CPU seconds of the SVC on the mean kernel, measured together with the packages.
SVC_THEN = {"ionosphere": 0.0009, "sonar": 0.0008, "letter 2000": 0.056, "letter 5000": 62 / 167}
PACKAGES = {
    1.0: {
        "SPG-GMKL (C++)": {"ionosphere": 0.93, "sonar": 2.6, "letter 2000": 16.0},
        "HessianMKL (Octave)": {"ionosphere": 4.1, "sonar": 8.1, "letter 2000": 19.0},
        "SHOGUN 3.2.1 (C++, interleaved)": {"ionosphere": 9.0, "sonar": 35.0, "letter 5000": 62.0},
        "SimpleMKL (Octave)": {"ionosphere": 24.0, "sonar": 34.0, "letter 2000": 619.0},
    },
    1.25: {"SPG-GMKL, SMO (C++)": {"ionosphere": 0.44, "sonar": 0.64, "letter 2000": 1.25}},
    2.0: {"SPG-GMKL, SMO (C++)": {"ionosphere": 0.56, "sonar": 0.69, "letter 2000": 0.87}},
}
AT_LEAST = {1.0: 10.0, 1.25: 5.0, 2.0: 5.0}
ONE_CORE = {
    "ionosphere": (lambda: problems.simplemkl_set("ionosphere"), 100.0),
    "sonar": (lambda: problems.simplemkl_set("sonar"), 100.0),
    "letter 2000": (lambda: problems.letter(2000), 10.0),
    "letter 5000": (lambda: problems.letter(5000), 10.0),
}


# ---- CPU seconds on one core
# ------------------------------------------------------------------------------------------------------------------


def one_core(wanted: list[str], quick: bool) -> list[dict]:
    """Every problem in a process of its own that may use one thread, beside the packages."""
    rows = []
    for name in ONE_CORE:
        if name in wanted or (not wanted and not (quick and name == "letter 5000")):
            command = [sys.executable, __file__, name, "2" if quick else "5"]
            done = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(done.stderr)
            rows += [_beside(row) for row in json.loads(done.stdout.splitlines()[-1])]
    return rows


def solve_on_one_core(name: str, repeats: int) -> list[dict]:
    """CPU seconds of the default solver at every power, and of the SVC on the mean kernel."""
    build, C = ONE_CORE[name]
    _, y, made = build()
    stack = problems.stack_of(made)
    svc = measure_floor(stack, y, C, time.process_time).svc
    rows = []
    bank = build_bank([Precomputed(K) for K in stack], np.arange(len(y)), normalize=None, dtype="float32")
    for power in PACKAGES:
        problem = problems.problem_on(bank, y, regularizers.as_regularizer(power), C=C)
        spent = []
        for _ in range(repeats + 1):  # the first one warms up
            start = time.process_time()
            result = Auto().solve(problem, tol=1e-3)
            spent.append(time.process_time() - start)
        rows.append(
            {"problem": name, "n": len(y), "kernels": len(stack), "p": power, "seconds": _median(spent[1:])}
            | {"solver": result.solver, "gap": float(f"{result.gap:.2g}"), "T_svc": float(f"{svc:.3g}")}
        )
    return rows


def _median(values: list[float]) -> float:
    return float(f"{np.median(values):.4g}")


def _beside(row: dict) -> dict:
    """The row with the packages' seconds, brought to this machine, and how many times ours they are."""
    speed = row["T_svc"] / SVC_THEN[row["problem"]]
    found = {package: seconds.get(row["problem"]) for package, seconds in PACKAGES[row["p"]].items()}
    row["packages"] = {package: float(f"{speed * seconds:.3g}") for package, seconds in found.items() if seconds}
    row["target"] = AT_LEAST[row["p"]]
    times = {package: float(f"{seconds / row['seconds']:.3g}") for package, seconds in row["packages"].items()}
    row["times faster"] = times
    print(f"{row['problem']:12s} p={row['p']:<5g} {row['seconds']:.4g} CPU s on one core; times faster than", times)
    return row


# ---- accuracy and seconds of what can be installed here
# ------------------------------------------------------------------------------------------------------------------


def accuracy(wanted: list[str]) -> list[dict]:
    """Test accuracy beside seconds of training, kernels given, for this package and every other one."""
    rows = []
    for name in ("ionosphere", "sonar", "letter 2000"):
        if not wanted or name in wanted:
            split = problems.train_and_test(name)
            found = [*_ours(split), *_theirs(split)]
            rows += [{"problem": name, "n": len(split.y), "test": len(split.y_test)} | row for row in found]
    for row in rows:
        print(row)
    return rows


def _ours(split) -> list[dict]:
    rows = []
    for power in (1.0, 1.25, 2.0):
        model = MKLClassifier(list(split.kernels.items()), regularizer=power, C=split.C, normalize=split.normalize)
        seconds = []
        for _ in range(4):  # the first one warms up
            model.fit(split.X, split.y)
            seconds.append(model.result_.seconds)
        score = model.score(split.X_test, split.y_test)
        rows.append({"package": "polykern", "model": f"p = {power:g}", "seconds": _median(seconds[1:])})
        rows[-1] |= {"accuracy": round(float(score), 4)}
    return rows


def _theirs(split) -> list[dict]:
    """The other packages get the same matrices through a folder, so that they can have an environment of their own."""
    python = os.environ.get("POLYKERN_PEERS_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        train, test = problems.train_and_test_matrices(split)
        for name, array in {"train": train, "test": test, "y": split.y, "y_test": split.y_test}.items():
            np.save(Path(folder) / f"{name}.npy", array)
        command = [python, str(HERE / "other_packages.py"), folder, str(split.C)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(solve_on_one_core(sys.argv[1], int(sys.argv[2]))))
