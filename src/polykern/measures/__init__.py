"""What kernels are worth, in numbers: alignment, margins, radius, spectrum, an indicator of generalisation.

Every measure takes one kernel matrix, several, or a `KernelBank`; `table` has all of them at once.
"""

from polykern.measures.alignments import alignment, alignment_matrix, centred_alignment
from polykern.measures.bound import MarginBound, margin_bound
from polykern.measures.margins import hull_margin, kernel_margin, sample_margins
from polykern.measures.spread import effective_rank, participation_ratio, radius, spectral_ratio
from polykern.measures.tables import report, table

__all__ = [
    "MarginBound",
    "alignment",
    "alignment_matrix",
    "centred_alignment",
    "effective_rank",
    "hull_margin",
    "kernel_margin",
    "margin_bound",
    "participation_ratio",
    "radius",
    "report",
    "sample_margins",
    "spectral_ratio",
    "table",
]
