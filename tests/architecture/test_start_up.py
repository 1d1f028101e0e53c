"""Importing is cheap and compiles nothing; what was compiled once is read from disk by the next process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from architecture._source import parsed

HEAVY = ("highspy", "matplotlib", "numba", "pandas", "polars", "sklearn", "scipy")

DISPATCHERS = """
import gc, json, sys
from numba.core.dispatcher import Dispatcher

def dispatchers():
    # Not isinstance: that would wake lazy proxies of other libraries.
    return [thing for thing in gc.get_objects() if issubclass(type(thing), Dispatcher)]
"""

IMPORT_EVERYTHING = (
    DISPATCHERS
    + """
import importlib
for module in json.loads(sys.argv[1]):
    importlib.import_module(module)
ours = [d for d in dispatchers() if d.py_func.__module__.startswith("polykern")]
compiled = [d.py_func.__qualname__ for d in ours if d.signatures]
print(json.dumps({"found": len(ours), "compiled": compiled}))
"""
)

FIT = (
    DISPATCHERS
    + """
import numpy as np
from polykern import MKLClassifier, MKLRegressor, kernels
random = np.random.default_rng(0)
X = random.standard_normal((60, 3))
family = [("narrow", kernels.RBF(gamma=1.0)), ("wide", kernels.RBF(gamma=0.1)), ("line", kernels.Linear())]
MKLClassifier(kernels=family).fit(X, X[:, 0] > 0).predict(X)
MKLRegressor(kernels=family).fit(X, X[:, 0]).predict(X)
ours = [d for d in dispatchers() if d.py_func.__module__.startswith("polykern") and d.signatures]
hits = sum(sum(d.stats.cache_hits.values()) for d in ours)
misses = {d.py_func.__qualname__: sum(d.stats.cache_misses.values()) for d in ours if d.stats.cache_misses}
print(json.dumps({"compiled": len(ours), "hits": hits, "misses": misses}))
"""
)


def run(code: str, *arguments: str, cache: Path | None = None) -> str:
    environment = os.environ | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_nothing_heavy():
    loaded = json.loads(run("import json, sys, polykern; print(json.dumps(list(sys.modules)))"))
    assert not set(HEAVY) & set(loaded)


def test_import_takes_less_than_half_a_second():
    # The CPU's clock, not the wall's: other tests run beside this one.
    code = "import time; start = time.process_time(); import polykern; print(time.process_time() - start)"
    assert statistics.median(float(run(code)) for _ in range(3)) < 0.5


def test_all_names_together_take_less_than_half_a_second_beyond_the_dependencies():
    code = """
import time
import numpy, scipy.linalg, scipy.optimize, scipy.sparse, scipy.spatial.distance, sklearn.base, sklearn.calibration
import sklearn.linear_model, sklearn.metrics, sklearn.model_selection, sklearn.preprocessing, sklearn.svm
import numba, highspy
start = time.process_time()
import polykern
for name in polykern.__all__:
    getattr(polykern, name)
print(time.process_time() - start)
"""
    assert statistics.median(float(run(code)) for _ in range(3)) < 0.5


def test_no_module_compiles_at_import(tmp_path):
    seen = json.loads(run(IMPORT_EVERYTHING, json.dumps(list(parsed())), cache=tmp_path))
    assert seen["found"] > 0 and seen["compiled"] == []
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled with the JIT off")
def test_second_process_reads_everything_compiled_from_disk(tmp_path):
    first = json.loads(run(FIT, cache=tmp_path))
    assert first["compiled"] > 0 and first["misses"] and list(tmp_path.rglob("*.nbi"))
    second = json.loads(run(FIT, cache=tmp_path))
    # What the compiled functions call inside their file comes with them and is not loaded by itself: no equality here.
    assert 0 < second["compiled"] <= second["hits"] and second["misses"] == {}
