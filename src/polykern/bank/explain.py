"""The memory plan as a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from polykern.bank.budget import format_bytes
from polykern.bank.plan import DENSE, MEMMAP, Decision, Plan

_WIDEST_NAME = 40


def explain(names: Sequence[str], descriptions: Sequence[str], decisions: Sequence[Decision], plan: Plan) -> str:
    """One line per run of kernels that are kept alike for the same reason, then the sums."""
    lines = [_line(names, descriptions, decisions, run) for run in _runs(descriptions, decisions)]
    header = ("kernels", "what", "storage", "bytes", "reason")
    widths = [max(len(line[c]) for line in [header, *lines]) for c in range(4)]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, [*widths, 0], strict=True)).rstrip()
        for line in [header, *lines]
    ]
    table.insert(1, "-" * max(len(line) for line in table))
    return "\n".join([*table, "", *_sums(decisions, plan)])


def _runs(descriptions: Sequence[str], decisions: Sequence[Decision]) -> list[list[int]]:
    def alike(k: int) -> tuple[str, str, str]:
        return descriptions[k], decisions[k].storage, decisions[k].reason

    return [list(run) for _, run in groupby(range(len(decisions)), key=alike)]


def _line(
    names: Sequence[str], descriptions: Sequence[str], decisions: Sequence[Decision], run: Sequence[int]
) -> tuple[str, str, str, str, str]:
    first, last = names[run[0]], names[run[-1]]
    label = _short(first) if len(run) == 1 else f"{_short(first)} .. {_short(last)} ({len(run)})"
    one = decisions[run[0]]
    return label, descriptions[run[0]], one.storage, format_bytes(sum(decisions[k].nbytes for k in run)), one.reason


def _short(name: str) -> str:
    return name if len(name) <= _WIDEST_NAME else name[: _WIDEST_NAME - 3] + "..."


def _sums(decisions: Sequence[Decision], plan: Plan) -> list[str]:
    in_files = sum(one.nbytes for one in decisions if one.storage == MEMMAP)
    in_memory = sum(one.nbytes for one in decisions if one.storage == DENSE)
    combined = (
        f"{format_bytes(plan.sizes.matrix)}" if plan.fits_combined else "does not fit: rows on demand, with a cache"
    )
    return [
        f"kernels in memory  {format_bytes(in_memory)}" + (f", in files {format_bytes(in_files)}" if in_files else ""),
        f"combined matrix    {combined}",
        f"data and buffers   {format_bytes(plan.sizes.data + plan.sizes.buffers)}",
        f"total              {format_bytes(plan.used)} of {format_bytes(plan.budget)}",
    ]
