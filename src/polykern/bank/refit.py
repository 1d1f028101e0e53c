"""The kernels of a bank, normalized as if only some of its samples had been there: training and validation parts.

A normalizer is fitted on the training part and applied to all samples, those of the validation part as new data. Both
parts can then be read from the one bank, whose entries were computed once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.bank.bank import KernelBank
from polykern.bank.build import fit_terms
from polykern.bank.computed import ComputedStorage
from polykern.bank.indexing import Rows, length, positions
from polykern.bank.matrices import MatrixStorage
from polykern.bank.shared import SharedStorage
from polykern.bank.stock import Stock
from polykern.bank.storage import Storage
from polykern.bank.terms import has_terms
from polykern.kernels.normalizers import Normalization, Normalizer


def refitted_bank(bank: KernelBank, rule: Normalizer, index: Rows) -> KernelBank:
    """All samples of a bank that was built with normalize=None, normalized with what `rule` reads off some of them."""
    if length(index) == 0:
        raise ValueError("idx is empty, expected at least one sample.")
    stock = bank._stock
    if any(has_terms(terms) or terms.scale != 1.0 for terms in stock.terms):
        raise ValueError("this bank is normalized already; build it with normalize=None to normalize parts of it.")
    means = _means_over(bank, index) if rule.needs_row_means else None
    terms = tuple(
        _for_all(stock, k, rule, index, None if means is None else means[k]) for k in range(len(stock.members))
    )
    diagonals = np.array([one.diag(diag) for one, diag in zip(terms, stock.diagonals, strict=True)])
    normalized = replace(
        stock,
        terms=terms,
        diagonals=diagonals.reshape(stock.diagonals.shape),
        training=tuple(view[index] for view in stock.views),
    )
    null = np.array([*(one.is_null for one in terms), True])  # the last one: kernels that have no slot anyway
    slots = np.where(null[bank._slots], -1, bank._slots)
    storages = [(_with_terms(storage, [terms[k] for k in places]), places) for storage, places in bank._storages]
    return KernelBank(normalized, slots, storages, bank._plan)


def _means_over(bank: KernelBank, index: Rows) -> NDArray[np.float64]:
    """(distinct kernels, n) means of K(x, .) over the samples at `index`, for every sample x: one pass."""
    shares = np.bincount(positions(index), minlength=bank.n_samples)[:, np.newaxis] / length(index)
    means = np.empty((len(bank._stock.members), bank.n_samples))
    for storage, places in bank._storages:
        means[places] = storage.scores(shares)[:, :, 0]
    return means


def _for_all(stock: Stock, k: int, rule: Normalizer, index: Rows, means: NDArray[Any] | None) -> Normalization:
    """Terms of all samples, those at `index` being the training samples."""
    member, diag = stock.members[k], stock.diagonals[k]
    training_means = None if means is None else means[index]
    fitted = fit_terms(member, stock.views[member.view][index], diag[index], training_means, rule, stock.dtype)
    shift, factor = fitted.new_terms(diag, means)
    return replace(fitted, shift=shift, factor=factor)


def _with_terms(storage: Storage, terms: list[Normalization]) -> Storage:
    """The same entries with a normalization on top; no matrix is copied."""
    if isinstance(storage, ComputedStorage):
        return ComputedStorage(storage.members, storage.views, terms, storage.dtype, storage.n_jobs)
    assert isinstance(storage, MatrixStorage)  # the only other kind
    owner = storage if storage.owner is None and not isinstance(storage, SharedStorage) else storage.owner
    return SharedStorage(storage.matrices, storage.index, terms, storage.dtype, storage.n_jobs, owner=owner)
