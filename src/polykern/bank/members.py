"""The kernels of a bank as they come in: resolved, named, checked, and told apart from their duplicates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.bank.computed import Member
from polykern.bank.views import Views, labelled
from polykern.kernels.base import Kernel
from polykern.kernels.compose import peel
from polykern.kernels.convert import as_kernel
from polykern.kernels.layout import locate
from polykern.kernels.matrix_checks import check_matrices, check_psd
from polykern.kernels.precomputed import Precomputed

_SAMPLE = 200  # samples on which a kernel without a base is tried out
_SEED = 0


def checked_names(names: Sequence[str] | None, kernels: Sequence[Any]) -> tuple[str, ...]:
    """One name per kernel, all different; made up from the kernels where none are given."""
    if names is None:
        return tuple(f"{_type_name(kernel)}_{k}" for k, kernel in enumerate(kernels))
    given = tuple(names)
    if len(given) != len(kernels):
        raise ValueError(f"names has {len(given)} entries, expected {len(kernels)}: one per kernel.")
    first: dict[str, int] = {}
    for k, name in enumerate(given):
        if not isinstance(name, str):
            raise TypeError(f"names[{k}] is {name!r}, expected text.")
        if first.setdefault(name, k) < k:
            raise ValueError(f"kernels {first[name]} and {k} are both named {name!r}, expected different names.")
    return given


def checked_kernels(kernels: Any) -> list[Kernel]:
    """Kernels from whatever `as_kernel` understands."""
    if isinstance(kernels, (str, Kernel)) or not hasattr(kernels, "__iter__"):
        raise TypeError(f"kernels is {kernels!r}, expected a list of kernels; write [{kernels!r}] for a single one.")
    given = list(kernels)
    if not given:
        raise ValueError("kernels is empty, expected at least one kernel, such as [kernels.RBF()].")
    return [one if isinstance(one, Kernel) else labelled(f"kernel {k}", as_kernel, one) for k, one in enumerate(given)]


def resolve_members(kernels: Sequence[Kernel], names: Sequence[str], views: Views) -> list[Member]:
    """Kernels with numbers for parameters, each with its view; what can be checked without a pass is checked."""
    labels = [label_of(k, name) for k, name in enumerate(names)]
    resolved = [_resolved(kernel, views.X, label) for kernel, label in zip(kernels, labels, strict=True)]
    _check_sizes(resolved, labels)
    members = []
    for (kernel, columns), label in zip(resolved, labels, strict=True):
        members.append(Member(label, kernel, views.add(kernel, columns, label)))
    return members


def label_of(k: int, name: str) -> str:
    """How messages name a kernel."""
    return f"kernel {k} ({name!r})"


def _resolved(kernel: Kernel, X: Any, label: str) -> tuple[Kernel, list[int] | None]:
    if kernel.input_kind == "indices":  # sample numbers: there is nothing to be read off them
        labelled(label, kernel.check_parameters)
        return kernel, None
    table = X if len(X.shape) == 2 else None
    if table is None:
        raise ValueError(
            f"{label} reads features, but X has shape {X.shape}: pass a table (n_samples, n_features); "
            "precomputed kernels read their sample numbers from one of its columns, OnColumns(Precomputed(K), [0])."
        )
    return peel(labelled(label, kernel.resolve, table))


def _check_sizes(resolved: Sequence[tuple[Kernel, list[int] | None]], labels: Sequence[str]) -> None:
    """Matrices that are read with the same sample numbers must be of the same size: that of most of them."""
    groups: dict[Any, dict[int, tuple[int, int]]] = {}
    for k, (kernel, columns) in enumerate(resolved):
        if isinstance(kernel, Precomputed):
            n, m = kernel.K.shape
            if n != m:
                raise ValueError(f"{labels[k]} is {(n, m)}, expected a square matrix (n, n) of all samples.")
            groups.setdefault(None if columns is None else tuple(columns), {})[k] = (n, m)
    for group in groups.values():
        expected = Counter(group.values()).most_common(1)[0][0]
        for k, shape in group.items():
            if shape != expected:
                raise ValueError(
                    f"{labels[k]} is {shape}, expected {expected} like the other precomputed kernels: "
                    "all are read with the same sample numbers."
                )


@dataclass(frozen=True)
class Distinct:
    """The kernels without their duplicates, in order of first appearance."""

    members: list[Member]
    prints: list[Any]  # fingerprints; of a given matrix, its location
    slots: NDArray[np.intp]  # for every kernel as it is named, the position of its distinct kernel


def distinct(named: Sequence[Member]) -> Distinct:
    """Which kernels are the same: equal parameters, same memory, same view."""
    prints = [fingerprint(one.kernel) for one in named]
    known: dict[Any, int] = {}
    slots = [known.setdefault((one.view, seal), len(known)) for one, seal in zip(named, prints, strict=True)]
    first = dict(zip(reversed(slots), reversed(range(len(slots))), strict=True))
    places = [first[slot] for slot in range(len(known))]
    return Distinct([named[k] for k in places], [prints[k] for k in places], np.array(slots, dtype=np.intp))


def fingerprint(value: Any) -> Any:
    """Equal for parameters that mean the same: arrays must be the same memory, functions the same object."""
    if isinstance(value, Precomputed):
        return locate(value.K)
    if isinstance(value, Kernel):
        params = value.get_params(deep=False)
        return type(value), tuple((name, fingerprint(params[name])) for name in sorted(params))
    if isinstance(value, np.ndarray):
        return "array", locate(value)
    if isinstance(value, (list, tuple)):
        return "list", tuple(fingerprint(item) for item in value)
    if value is None or isinstance(value, (str, bool, Number)):
        return value
    return "object", id(value)


def check_members(kernels: Distinct, views: Sequence[NDArray[Any]], n_jobs: int | None) -> None:
    """Raise for kernels that are given from outside (matrices, functions) and cannot be kernels."""
    given = [k for k, one in enumerate(kernels.members) if isinstance(one.kernel, Precomputed)]
    matrices, places = [kernels.members[k].kernel.K for k in given], [kernels.prints[k] for k in given]
    check_matrices(matrices, places, lambda k: kernels.members[given[k]].name, n_jobs)
    for member in kernels.members:
        if member.kernel.base is None and not isinstance(member.kernel, Precomputed):
            _check_sampled(member, views[member.view])


def _check_sampled(member: Member, view: NDArray[Any]) -> None:
    """Finite and positive semidefinite on a few samples, drawn with a fixed seed."""
    n_samples = len(view)
    some = np.arange(n_samples)
    if n_samples > _SAMPLE:
        some = np.sort(np.random.default_rng(_SEED).choice(n_samples, _SAMPLE, replace=False))
    rows = view[some]
    block = np.asarray(labelled(member.name, member.kernel.block, rows, rows, np.float64))
    if not np.isfinite(block).all():
        i, j = np.argwhere(~np.isfinite(block))[0]
        raise ValueError(
            f"{member.name} is {block[i, j]} for samples {some[i]} and {some[j]}, expected finite kernel values."
        )
    check_psd(block, member.name, n_samples)


def _type_name(kernel: Any) -> str:
    inner = kernel
    while hasattr(inner, "kernel") and hasattr(inner, "columns"):
        inner = inner.kernel
    return type(inner).__name__.lower()
