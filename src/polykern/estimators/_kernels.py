"""What users may write for `kernels=`, turned into named kernels.

[(name, kernel), (name, kernel, columns), ...]     columns: names, positions, a slice, a column selector
[RBF(gamma=0.5), "linear", f, ...]                 names are made from the kernels
RBF(gamma=0.5)                                     one kernel
"default" | "rbf-grid" | "linear" | ...            a family that fits itself to the data, or one kernel by its name
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np

from polykern.estimators._parameters import did_you_mean
from polykern.kernels import (
    KERNEL_NAMES,
    Function,
    Kernel,
    OnColumns,
    Precomputed,
    as_kernel,
    default_kernels,
    rbf_grid,
)
from polykern.kernels.columns import column_positions

FAMILIES = ("default", "rbf-grid")


@dataclass(frozen=True)
class NamedKernels:
    """Kernels with a name of their own each, in the user's order."""

    names: tuple[str, ...]
    kernels: tuple[Kernel, ...]

    def on_frame(self, frame: Any) -> NamedKernels:
        """The same kernels with columns as positions, so that they can read the frame as a plain matrix."""
        return NamedKernels(self.names, tuple(self._resolved(position, frame) for position in range(len(self.names))))

    def _resolved(self, position: int, frame: Any) -> Kernel:
        try:
            return self.kernels[position].resolve(frame)
        except (TypeError, ValueError) as error:
            raise type(error)(f"kernel {position} ({self.names[position]!r}): {error}") from error


class _Entry(NamedTuple):
    """One item of the user's list; `name` is None where one has to be made, `kernel` a family's name or a kernel."""

    name: str | None
    kernel: Any


def named_kernels(spec: Any, features: Any = 1) -> NamedKernels:
    """The kernels that `spec` asks for; `features` (data, or the number of columns) is what families are made for."""
    entries = _entries(spec)
    if any(item_is_family(entry.kernel) for entry in entries):
        entries = [expanded for entry in entries for expanded in _expand(entry, features)]
    _check_given_names(entries)
    named = NamedKernels(_complete_names(entries), tuple(entry.kernel for entry in entries))
    _check_one_kind(named)
    return named


def reads_indices(spec: Any) -> bool:
    """Whether X holds sample indices for these kernels; False too where `spec` is a mistake, which fit will name."""
    if isinstance(spec, list) and all(isinstance(item, tuple) and len(item) == 2 for item in spec):
        kinds = {getattr(kernel, "input_kind", None) for _, kernel in spec}  # hundreds of named kernels, looked through
        return kinds == {"indices"}
    try:
        return all(
            isinstance(entry.kernel, Kernel) and entry.kernel.input_kind == "indices" for entry in _entries(spec)
        )
    except (TypeError, ValueError):
        return False


def columns_read(spec: Any, table: Any) -> np.ndarray | None:
    """Positions of the columns that the kernels read, where each of them knows its own; None where one reads all."""
    kernels = [entry.kernel for entry in _entries(spec)]
    if not all(isinstance(kernel, OnColumns) for kernel in kernels):
        return None
    chosen = [column_positions(table, kernel.columns, f"kernel {k}") for k, kernel in enumerate(kernels)]
    return np.unique(np.concatenate(chosen))


def stored_dtype(kernels: tuple[Kernel, ...], tol: float) -> np.dtype:
    """Type of the kernel values: that of the given matrices where all are given, otherwise what the tolerance needs.

    float32 carries 7 digits; a gap of 1e-4 is safely above what its rounding does to the two bounds.
    """
    given = {kernel.K.dtype for kernel in kernels if isinstance(kernel, Precomputed)}
    if len(given) == 1 and all(isinstance(kernel, Precomputed) for kernel in kernels):
        return given.pop()
    return np.dtype(np.float32 if tol >= 1e-4 else np.float64)


def _entries(spec: Any) -> list[_Entry]:
    if _is_single(spec):
        return [_as_entry(spec, 0)]
    if isinstance(spec, dict):
        raise TypeError("kernels is a dict, expected a list of (name, kernel) tuples: list(kernels.items()) makes one.")
    if not isinstance(spec, Iterable):
        raise TypeError(f"kernels is {spec!r}, expected a list of kernels, a kernel or a name; {_known()}.")
    items = list(spec)
    if not items:
        raise ValueError(
            "kernels is an empty list, expected at least one kernel, such as [kernels.RBF()], or 'default'."
        )
    if isinstance(spec, tuple) and isinstance(items[0], str) and not all(isinstance(item, str) for item in items):
        raise TypeError(
            f"kernels is the one tuple {spec!r}, expected a list: put brackets around it, [({items[0]!r}, ...)]."
        )
    return [_as_entry(item, position) for position, item in enumerate(items)]


def _is_single(spec: Any) -> bool:
    return isinstance(spec, str | Kernel | np.ndarray) or (callable(spec) and not isinstance(spec, Iterable))


def _as_entry(item: Any, position: int) -> _Entry:
    if isinstance(item, tuple):
        return _named_entry(item, position)
    return _Entry(None, item if item_is_family(item) else _kernel(item, f"kernel {position}"))


def _named_entry(item: tuple[Any, ...], position: int) -> _Entry:
    if len(item) not in (2, 3) or not isinstance(item[0], str):
        raise TypeError(
            f"kernel {position} is the tuple {item!r}, expected (name, kernel) or (name, kernel, columns) with a "
            "string as name."
        )
    name = item[0]
    if not name.strip():
        raise ValueError(f"kernel {position} has an empty name, expected a readable one such as 'shape'.")
    kernel = item[1] if isinstance(item[1], Kernel) else _kernel(item[1], f"kernel {position} ({name!r})")
    columns = item[2] if len(item) == 3 else None
    return _Entry(name, kernel if columns is None else OnColumns(kernel, columns))


def item_is_family(item: Any) -> bool:
    """`item` names a family of kernels, not one kernel."""
    return isinstance(item, str) and item in FAMILIES


def _kernel(item: Any, place: str) -> Kernel:
    if item_is_family(item):
        raise ValueError(
            f"{place} is {item!r}, which is a family of several kernels: give it without a name of its own."
        )
    if isinstance(item, str) and item == "precomputed":
        raise ValueError(
            f"{place} is 'precomputed', which is not known: wrap each matrix as kernels.Precomputed(K) and "
            "pass sample indices as X."
        )
    if isinstance(item, str) and item not in KERNEL_NAMES:
        raise ValueError(f"{place} is {item!r}, which is not known; {did_you_mean(item, _known_names())}.")
    if isinstance(item, np.ndarray):
        raise TypeError(
            f"{place} is an array of shape {item.shape}, expected a kernel: wrap it as kernels.Precomputed(K) and "
            "pass sample indices as X."
        )
    if isinstance(item, type):
        raise TypeError(f"{place} is the class {item.__name__}, expected an object: write {item.__name__}().")
    try:
        return as_kernel(item)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{place}: {error}") from error


def _known_names() -> list[str]:
    return [*FAMILIES, *KERNEL_NAMES]


def _known() -> str:
    return "known names are " + ", ".join(map(repr, _known_names()))


def _expand(entry: _Entry, features: Any) -> list[_Entry]:
    if not item_is_family(entry.kernel):
        return [entry]
    members = default_kernels(features) if entry.kernel == "default" else rbf_grid()
    return [_named_entry(member, position) for position, member in enumerate(members)]


def _check_given_names(entries: list[_Entry]) -> None:
    first_position: dict[str, int] = {}
    for position, entry in enumerate(entries):
        if entry.name is None:
            continue
        if entry.name in first_position:
            raise ValueError(
                f"kernels {first_position[entry.name]} and {position} are both named {entry.name!r}, "
                "expected unique names."
            )
        first_position[entry.name] = position


def _check_one_kind(named: NamedKernels) -> None:
    """X holds sample indices or vectors; a table can hold both, if every kernel is told which columns are its own."""
    first_of = {kernel.input_kind: k for k, kernel in reversed(list(enumerate(named.kernels)))}
    if len(first_of) > 1:
        i, v = first_of["indices"], first_of["vectors"]
        raise ValueError(
            f"kernel {i} ({named.names[i]!r}) reads sample indices and kernel {v} ({named.names[v]!r}) reads vectors, "
            "expected one kind: put the indices into a column of X and tell each its columns: (name, kernel, columns)."
        )


def _complete_names(entries: list[_Entry]) -> tuple[str, ...]:
    """Given names as they are, made names with a number where they would come twice."""
    taken = {entry.name for entry in entries if entry.name is not None}
    made = Counter(describe(entry.kernel) for entry in entries if entry.name is None)
    names: list[str] = []
    for entry in entries:
        name = entry.name
        if name is None:
            described = describe(entry.kernel)
            name = _free_name(described, taken, numbered=made[described] > 1)
            taken.add(name)
        names.append(name)
    return tuple(names)


def _free_name(described: str, taken: set[str], *, numbered: bool) -> str:
    if not numbered and described not in taken:
        return described
    number = 1
    while f"{described} #{number}" in taken:
        number += 1
    return f"{described} #{number}"


def describe(kernel: Kernel) -> str:
    """A short readable name: the class and what differs from its defaults, without arrays."""
    if isinstance(kernel, Function):
        return _short(kernel.f)
    if isinstance(kernel, OnColumns):
        return f"{describe(kernel.kernel)} on {_short(kernel.columns)}"
    changed = [f"{name}={_short(value)}" for name, value in _changed_parameters(kernel) if _is_short(value)]
    return f"{type(kernel).__name__}({', '.join(changed)})" if changed else type(kernel).__name__


def _changed_parameters(kernel: Kernel) -> list[tuple[str, Any]]:
    defaults = {name: known.default for name, known in signature(type(kernel)).parameters.items()}
    parameters = kernel.get_params(deep=False).items()
    return [(name, value) for name, value in parameters if _differs(value, defaults.get(name, Parameter.empty))]


def _differs(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray):
        return True
    return value is not default and not (type(value) is type(default) and bool(value == default))


def _is_short(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | np.number | Kernel) or callable(value)


def _short(value: Any) -> str:
    if isinstance(value, Kernel):
        return describe(value)
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    if isinstance(value, float | np.floating):
        return f"{float(value):.4g}"
    text = str(list(value)) if isinstance(value, np.ndarray | tuple) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
