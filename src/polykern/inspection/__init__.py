"""Looking at what was learned: which kernels matter, and how sure it is.

Plots need matplotlib, which is optional: pip install "polykern[plot]".
"""

from polykern.inspection.page import Page
from polykern.inspection.plots import plot_gap, plot_weights
from polykern.inspection.report import write_report

__all__ = ["Page", "plot_gap", "plot_weights", "write_report"]
