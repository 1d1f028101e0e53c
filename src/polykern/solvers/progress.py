"""`verbose=1`: a line per iteration."""

from __future__ import annotations

import sys
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from polykern.problems.result import Record


class ProgressLines:
    """Callback that writes iteration, gap, active kernels and elapsed time, one line each, to standard error."""

    header = f"{'iteration':>9}  {'gap':>9}  {'kernels':>7}  {'elapsed':>9}\n"

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream

    def __call__(self, record: Record, weights: NDArray[np.float64]) -> None:
        """Write one line."""
        stream = sys.stderr if self.stream is None else self.stream
        if record.iteration == 1:
            stream.write(self.header)
        stream.write(f"{record.iteration:9d}  {record.gap:9.2e}  {record.n_active:7d}  {record.seconds:7.2f} s\n")
        stream.flush()
