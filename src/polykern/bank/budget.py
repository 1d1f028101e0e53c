"""How much memory a bank may use."""

from __future__ import annotations

import os
import re
from numbers import Real
from pathlib import Path

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*")
_EXPECTED = 'expected a number of bytes, text such as "4GB" or "500MB", or "auto"'


def parse_memory(memory: int | float | str) -> int:
    """Bytes for `memory`: a number of bytes, "4GB", "512MiB", or "auto", which is half of what is free now."""
    if isinstance(memory, str):
        amount = available_bytes() // 2 if memory.strip().lower() == "auto" else _parse_text(memory)
    elif isinstance(memory, Real) and not isinstance(memory, bool):
        amount = float(memory)
    else:
        raise TypeError(f"memory is {memory!r}, {_EXPECTED}.")
    if not 0 < amount < float("inf"):
        raise ValueError(f"memory is {memory!r}, {_EXPECTED}, more than 0.")
    return int(amount)


def _parse_text(memory: str) -> float:
    found = _AMOUNT.fullmatch(memory)
    unit = found.group(2).upper() if found else ""
    if found is None or unit not in _UNITS:
        raise ValueError(f"memory is {memory!r}, {_EXPECTED}.")
    return float(found.group(1)) * _UNITS[unit]


def format_bytes(amount: float) -> str:
    """Bytes as text with three digits: 20.0 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(amount) < 999.5:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.3g} {unit}"
        amount /= 1000.0
    return f"{amount:.4g} TB"


def available_bytes() -> int:
    """Memory this process may still take: what the machine has free, or what its control group leaves, if less."""
    limits = [_machine_bytes(), _cgroup_bytes("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current")]
    folder = "/sys/fs/cgroup/memory/memory."
    limits.append(_cgroup_bytes(folder + "limit_in_bytes", folder + "usage_in_bytes"))
    return max(1, min(limit for limit in limits if limit is not None))


def _machine_bytes() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return _physical_bytes() // 2


def _physical_bytes() -> int:
    """Where the system does not say what is free, half of what there is counts as free."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 4 * 10**9


def _cgroup_bytes(limit: str, usage: str) -> int | None:
    try:
        most = Path(limit).read_text().strip()
        return None if most == "max" else max(0, int(most) - int(Path(usage).read_text()))
    except (OSError, ValueError):
        return None
