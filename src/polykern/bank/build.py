"""From kernels and data to a bank: resolve, read, tell duplicates apart, normalize, plan, fill."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from polykern.bank.bank import KernelBank
from polykern.bank.budget import parse_memory
from polykern.bank.callers import users_line
from polykern.bank.checks import checked_dtype
from polykern.bank.computed import ComputedStorage, Member
from polykern.bank.dense import DenseStorage
from polykern.bank.diagonals import is_constant, normalized_diagonals, read_diagonals
from polykern.bank.indexing import Rows, consecutive, length
from polykern.bank.matrices import MatrixStorage
from polykern.bank.members import Distinct, check_members, checked_kernels, checked_names, distinct, resolve_members
from polykern.bank.memmap import MappedStorage, free_disk_bytes
from polykern.bank.plan import (
    DENSE,
    MEMMAP,
    ON_THE_FLY,
    SHARED,
    Decision,
    Plan,
    Sizes,
    buffer_bytes,
    make_plan,
    window_bytes,
)
from polykern.bank.shared import SharedStorage
from polykern.bank.stock import Stock, matrices_of
from polykern.bank.storage import Storage
from polykern.bank.terms import Plain, Terms, has_terms
from polykern.bank.views import Input, Views, as_input
from polykern.kernels.normalizers import Normalization, Normalizer, normalizer
from polykern.kernels.precomputed import Precomputed
from polykern.parallel import n_threads

Placed = tuple[Storage, NDArray[np.intp]]
# Where centring cancels more than this of a kernel's diagonal, what is left is rounding.
_RESOLUTION = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}


def build_bank(
    kernels: Sequence[Any],
    X: Any,
    *,
    names: Sequence[str] | None = None,
    normalize: str | None = "mean-diagonal",
    memory: int | float | str = "auto",
    dtype: DTypeLike = "float64",
    n_jobs: int | None = None,
) -> KernelBank:
    """Many kernels on the training samples X as one operator.

    Parameters
    ----------
    kernels : list
        Kernels, names of kernels, or callables. A kernel that is not an OnColumns reads all columns.
    X : (n, d) array or frame, or (n,) sample numbers where all kernels are precomputed
    names : list of str, optional
        One per kernel; made up where they are not given.
    normalize : str or None
        A name that `kernels.normalizers.normalizer` knows.
    memory : int or str
        What the bank and the combined matrix may use: bytes, "4GB", or "auto" for half of what is free.
    dtype : "float32" or "float64"
        Type of kernel entries. Sums over entries are returned in float64.
    n_jobs : int, optional
        Threads; None for all cores.
    """
    budget, entries, rule = parse_memory(memory), checked_dtype(dtype), normalizer(normalize)
    n_threads(n_jobs)
    given = checked_kernels(kernels)
    labels = checked_names(names, given)
    views = Views(_non_empty(as_input(X)))
    found = distinct(resolve_members(given, labels, views))
    check_members(found, views.arrays, n_jobs)
    fitted, diagonals = _normalizations(found, views.arrays, rule, entries, n_jobs)
    live = [s for s, terms in enumerate(fitted) if not terms.is_null]
    slots = _without_null(found.slots, live, labels)
    stock = Stock(
        names=labels,
        members=tuple(found.members[s] for s in live),
        terms=tuple(fitted[s] for s in live),
        diagonals=diagonals[live],
        readers=tuple(views.readers),
        views=tuple(views.arrays),
        training=tuple(views.arrays),
        given=Input.of(views.X),
        n_samples=len(views.arrays[0]),
        dtype=entries,
        n_jobs=n_jobs,
    )
    plan = make_plan(stock.requests, _sizes(stock), budget, free_disk_bytes())
    return KernelBank(stock, slots, _storages(stock, plan), plan)


def _non_empty(X: Any) -> Any:
    if X.shape[0] == 0:
        raise ValueError(f"X has shape {X.shape}, expected at least one sample.")
    return X


def _sizes(stock: Stock) -> Sizes:
    buffers = buffer_bytes(len(stock.members), stock.n_samples, n_threads(stock.n_jobs))
    window = window_bytes(n_threads(stock.n_jobs))
    return Sizes(stock.n_samples, stock.dtype.itemsize, stock.data_bytes, buffers, window)


# ---- normalization -------------------------------------------------------------------------------------------------


def _normalizations(
    kernels: Distinct, views: Sequence[NDArray[Any]], rule: Normalizer, dtype: np.dtype[Any], n_jobs: int | None
) -> tuple[list[Normalization], NDArray[np.float64]]:
    """The fitted normalization of every kernel, and the normalized diagonals, (F, n)."""
    members = kernels.members
    raw = read_diagonals(members, kernels.prints, views, n_jobs)
    means = _row_means(members, views, dtype, n_jobs) if rule.needs_row_means else None
    names = [one.name for one in members]
    fitted = rule.fit_all(raw.values, means, resolution=_RESOLUTION[dtype], labels=names)
    for k in np.flatnonzero(raw.constant | ~raw.settled):
        view, terms = views[members[k].view], fitted[k]
        if not terms.is_null and (raw.constant[k] or is_constant(members[k], view, raw.values[k])):
            fitted[k] = replace(terms, is_null=True, scale=0.0)
    return fitted, normalized_diagonals(fitted, raw.values)


def fit_terms(
    member: Member,
    view: NDArray[Any],
    diag: NDArray[np.float64],
    means: NDArray[np.float64] | None,
    rule: Normalizer,
    dtype: np.dtype[Any],
) -> Normalization:
    """The normalization of one kernel, from its data, its diagonal and the means of its rows, as they are."""
    terms = rule.fit(diag, means, resolution=_RESOLUTION[dtype], label=member.name)
    constant = not terms.is_null and is_constant(member, view, diag)
    return replace(terms, is_null=True, scale=0.0) if constant else terms


def _row_means(
    members: Sequence[Member], views: Sequence[NDArray[Any]], dtype: np.dtype[Any], n_jobs: int | None
) -> NDArray[np.float64]:
    """Mean of every row of every kernel as it is: one pass over all kernels."""
    n_samples = len(views[members[0].view])
    means = np.empty((len(members), n_samples))
    plain: list[Terms] = [Plain()] * len(members)
    for storage, places in _raw_storages(members, views, plain, dtype, n_jobs):
        means[places] = storage.scores(np.full((n_samples, 1), 1.0 / n_samples))[:, :, 0]
    return means


def _without_null(slots: NDArray[np.intp], live: Sequence[int], names: Sequence[str]) -> NDArray[np.intp]:
    """Slots among the kernels that are left, -1 for those that are zero; a warning names them."""
    renumbered = np.full(slots.max() + 1, -1, dtype=np.intp)
    renumbered[list(live)] = np.arange(len(live))
    left = renumbered[slots]
    for k in np.flatnonzero(left < 0):
        warnings.warn(
            f"kernel {k} ({names[int(k)]!r}) is zero or constant on the training samples and tells nothing about them; "
            "it is kept, with weight 0.",
            UserWarning,
            stacklevel=users_line(),
        )
    return left


# ---- storages ------------------------------------------------------------------------------------------------------


def _raw_storages(
    members: Sequence[Member],
    views: Sequence[NDArray[Any]],
    terms: Sequence[Terms],
    dtype: np.dtype[Any],
    n_jobs: int | None,
) -> list[Placed]:
    """Precomputed kernels where they are, all others on the fly."""
    placed: list[Placed] = []
    for view in sorted({one.view for one in members if isinstance(one.kernel, Precomputed)}):
        places = _where(isinstance(one.kernel, Precomputed) and one.view == view for one in members)
        matrices = matrices_of([members[k] for k in places])
        chosen = [terms[k] for k in places]
        placed.append((SharedStorage(matrices, consecutive(views[view]), chosen, dtype, n_jobs), places))
    places = _where(not isinstance(one.kernel, Precomputed) for one in members)
    if places.size:
        chosen = [terms[k] for k in places]
        placed.append((ComputedStorage([members[k] for k in places], views, chosen, dtype, n_jobs), places))
    return placed


def _where(flags: Any) -> NDArray[np.intp]:
    return np.flatnonzero(np.fromiter(flags, dtype=bool))


def _storages(stock: Stock, plan: Plan) -> list[Placed]:
    """Storages as planned; what is kept is computed now."""
    placed: list[Placed] = []
    for kind in (SHARED, ON_THE_FLY, DENSE, MEMMAP):
        places = _where(one.storage == kind for one in plan.decisions)
        if places.size == 0:
            continue
        members, terms = [stock.members[k] for k in places], [stock.terms[k] for k in places]
        sources = _raw_storages(members, stock.views, terms, stock.dtype, stock.n_jobs)
        if kind in (SHARED, ON_THE_FLY):
            placed += [(storage, places[inside]) for storage, inside in sources]
        else:
            placed.append((_filled(kind, sources[0][0]), places))
    return placed


def _filled(kind: str, source: Storage) -> DenseStorage:
    shape = (source.n_kernels, source.n_samples, source.n_samples)
    if kind == DENSE:
        storage = DenseStorage(np.empty(shape, dtype=source.dtype), source.n_jobs)
    else:
        storage = MappedStorage(shape, source.dtype, source.n_jobs)
    storage.fill(source)
    return storage


# ---- subsets -------------------------------------------------------------------------------------------------------


def subset_bank(bank: KernelBank, index: Rows) -> KernelBank:
    """The same kernels and normalization on some of the samples; matrices in memory are gathered if there is room."""
    if length(index) == 0:
        raise ValueError("idx is empty, expected at least one sample.")
    whole = bank._plan
    stock = bank._stock.take(index)
    sizes = _sizes(stock)
    budget = whole.budget - whole.dense_bytes
    as_it_is = isinstance(index, slice) and not any(map(has_terms, stock.terms))
    gathered = not as_it_is and _room_for(whole, sizes, budget)
    decisions = tuple(_inherited(one, gathered, sizes) for one in whole.decisions)
    plan = Plan(decisions, budget, sizes, budget >= sizes.least + sizes.matrix)
    storages = [_subset_storage(storage, places, stock, index, decisions) for storage, places in bank._storages]
    return KernelBank(stock, bank._slots, storages, plan)


def _room_for(whole: Plan, sizes: Sizes, budget: int) -> bool:
    n_dense = sum(one.storage == DENSE for one in whole.decisions)
    return budget >= sizes.least + (n_dense + 1) * sizes.matrix


def _inherited(decision: Decision, gathered: bool, sizes: Sizes) -> Decision:
    if decision.storage == DENSE and gathered:
        return Decision(DENSE, sizes.matrix, "gathered from the whole bank's matrices")
    if decision.storage in (DENSE, MEMMAP):
        return Decision(SHARED, 0, "read from the whole bank's matrices")
    return decision


def _subset_storage(
    storage: Storage, places: NDArray[np.intp], stock: Stock, index: Rows, decisions: Sequence[Decision]
) -> Placed:
    if isinstance(storage, ComputedStorage):
        terms = [stock.terms[k] for k in places]
        return ComputedStorage(storage.members, stock.views, terms, stock.dtype, stock.n_jobs), places
    assert isinstance(storage, MatrixStorage)  # the only other kind
    part = storage.subset(index)
    if decisions[int(places[0])].storage == DENSE:
        return _filled(DENSE, part), places
    return part, places
