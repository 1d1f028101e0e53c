"""Importing the kernels must not load Numba: only the compiled bases do, on first use."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import numpy as np
from polykern import kernels
X = np.ones((3, 2))
for kernel in (kernels.RBF(), kernels.Linear(), kernels.Cosine(), kernels.Polynomial()):
    kernel.gram(X)
assert "numba" not in sys.modules
kernels.Laplacian().gram(X)
assert "numba" in sys.modules
"""


def test_numba_is_loaded_on_first_use_only():
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=120)
