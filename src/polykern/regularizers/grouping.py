"""Groups of kernels as users write them, checked: which group each kernel is in."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FORMS = (
    "a dict {group: [kernel, ..]}, a list of lists of kernels, or one label per kernel (kernels by name or position)"
)


def check_groups(groups: Any) -> None:
    """Raise where `groups` has none of the forms, or an empty group; the kernels are not known yet."""
    if isinstance(groups, str) or not isinstance(groups, Collection):
        raise TypeError(f"groups of GroupedNorm is {groups!r}, expected {_FORMS}.")
    if len(groups) == 0:
        raise ValueError(f"groups of GroupedNorm is empty, expected {_FORMS}.")
    if _are_labels(groups):
        return
    for name, members in _named_groups(groups):
        if isinstance(members, str) or not isinstance(members, Collection):
            raise TypeError(f"group {name!r} of GroupedNorm is {members!r}, expected a list of kernels: {_FORMS}.")
        if len(members) == 0:
            raise ValueError(f"group {name!r} of GroupedNorm is empty: name its kernels, or leave the group out.")


def group_of_each(groups: Any, n_kernels: int, names: tuple[str, ...] | None) -> NDArray[np.intp]:
    """(F,) the number of every kernel's group, 0, 1, ..; `names` None where kernels can only be meant by position."""
    check_groups(groups)
    if _are_labels(groups):
        return _from_labels(list(groups), n_kernels)
    group_of = np.full(n_kernels, -1, dtype=np.intp)
    named = _named_groups(groups)
    for number, (name, members) in enumerate(named):
        for member in members:
            k = _position(member, name, n_kernels, names)
            if group_of[k] >= 0:
                raise ValueError(_said_twice(member, named[group_of[k]][0], name))
            group_of[k] = number
    left = np.flatnonzero(group_of < 0).tolist()
    if left:
        raise ValueError(_left_out([k if names is None else names[k] for k in left], n_kernels))
    return group_of


def _said_twice(kernel: Any, first: Any, second: Any) -> str:
    where = f"twice in group {first!r}" if first == second else f"in the groups {first!r} and {second!r}"
    return f"kernel {kernel!r} is {where} of GroupedNorm, expected every kernel in one group once."


def _left_out(kernels: list[Any], n_kernels: int) -> str:
    shown = ", ".join(map(repr, kernels[:5])) + (", .." if len(kernels) > 5 else "")
    return (
        f"{len(kernels)} of {n_kernels} kernels are in no group of GroupedNorm ({shown}): put each into one group; "
        "a group may hold a single kernel."
    )


def _are_labels(groups: Any) -> bool:
    return not isinstance(groups, Mapping) and all(isinstance(item, str | Integral) for item in groups)


def _named_groups(groups: Any) -> list[tuple[Any, Any]]:
    return list(groups.items()) if isinstance(groups, Mapping) else list(enumerate(groups))


def _from_labels(labels: list[Any], n_kernels: int) -> NDArray[np.intp]:
    if len(labels) != n_kernels:
        raise ValueError(
            f"groups of GroupedNorm has {len(labels)} labels and there are {n_kernels} kernels, expected one label per "
            "kernel; groups that list their kernels are lists of lists."
        )
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], dtype=np.intp)


def _position(member: Any, group: Any, n_kernels: int, names: tuple[str, ...] | None) -> int:
    if isinstance(member, Integral) and not isinstance(member, bool):
        position = int(member)
        if not 0 <= position < n_kernels:
            raise ValueError(
                f"group {group!r} of GroupedNorm holds the position {member}, expected 0 to {n_kernels - 1}: "
                f"there are {n_kernels} kernels."
            )
        return position
    if not isinstance(member, str):
        raise TypeError(f"group {group!r} of GroupedNorm holds {member!r}, expected names or positions of kernels.")
    if names is None:
        raise ValueError(
            f"GroupedNorm knows the kernel {member!r} by name only: call bind(bank, y) first, as the estimators do, or "
            "give positions."
        )
    if member not in names:
        close = difflib.get_close_matches(member, names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"they are called {', '.join(map(repr, names[:5]))}.."
        raise ValueError(f"group {group!r} of GroupedNorm holds {member!r}, and no kernel has that name: {hint}")
    return names.index(member)
