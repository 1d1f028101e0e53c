"""Many kernels as one operator, under a memory budget."""

from __future__ import annotations

from polykern.bank.bank import KernelBank
from polykern.bank.budget import parse_memory
from polykern.bank.build import build_bank
from polykern.bank.cache import RowCache
from polykern.bank.reference import Reference
from polykern.bank.tally import Counts

__all__ = ["Counts", "KernelBank", "Reference", "RowCache", "build_bank", "parse_memory"]
