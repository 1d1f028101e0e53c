"""What a bank is made of: distinct kernels, the data they read, their normalization. No matrices but the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.bank.computed import Member, families
from polykern.bank.explain import explain
from polykern.bank.indexing import Rows, length
from polykern.bank.plan import DUPLICATE, NULL, Decision, Plan, Request
from polykern.bank.views import Input, Reader
from polykern.kernels.normalizers import Normalization
from polykern.kernels.precomputed import Precomputed


@dataclass(frozen=True)
class Stock:
    """Distinct kernels on the samples of one bank.

    Members, terms and diagonals go together. `training` are the views of all samples that the normalization was
    fitted on: those of the bank itself, or of the one that it is a subset of.
    """

    names: tuple[str, ...]
    members: tuple[Member, ...]
    terms: tuple[Normalization, ...]
    diagonals: NDArray[np.float64]  # (distinct kernels, n), normalized
    readers: tuple[Reader, ...]
    views: tuple[NDArray[Any], ...]
    training: tuple[NDArray[Any], ...]
    given: Input
    n_samples: int
    dtype: np.dtype[Any]
    n_jobs: int | None

    def take(self, index: Rows) -> Stock:
        """The same kernels on some of the samples."""
        return replace(
            self,
            terms=tuple(one.take(index) for one in self.terms),
            diagonals=self.diagonals[:, index],
            views=tuple(view[index] for view in self.views),
            n_samples=length(index),
        )

    @cached_property
    def requests(self) -> list[Request]:
        """What the plan and its table say of each distinct kernel."""
        family_of = {k: f for f, family in enumerate(families(self.members)) for k in family}
        return [
            Request(one.name, describe(one), self._cost(one), family_of[k], isinstance(one.kernel, Precomputed))
            for k, one in enumerate(self.members)
        ]

    def _cost(self, member: Member) -> float:
        view = self.views[member.view]
        return float(member.kernel.entry_cost(view.shape[1] if view.ndim == 2 else 1))

    @property
    def data_bytes(self) -> int:
        """Views and diagonals."""
        return sum(view.nbytes for view in self.views) + self.diagonals.nbytes

    def explain(self, plan: Plan, slots: NDArray[np.intp]) -> str:
        """The plan for the kernels as they are named."""
        descriptions, decisions = [], []
        first: dict[int, int] = {}
        for k, slot in enumerate(slots.tolist()):
            descriptions.append("" if slot < 0 else self.requests[slot].description)
            known = first.setdefault(slot, k)
            if slot < 0:
                decisions.append(_NULL)
            elif known < k:
                decisions.append(Decision(DUPLICATE, 0, f"the same kernel as {self.names[known]!r}"))
            else:
                decisions.append(plan.decisions[slot])
        return explain(self.names, descriptions, decisions, plan)


_NULL = Decision(NULL, 0, "zero or constant on the training samples: weight 0")


def describe(member: Member) -> str:
    """A kernel in one word, with the base that its family shares."""
    kernel = type(member.kernel).__name__
    return f"{kernel} ({member.kernel.base.replace('_', ' ')})" if member.kernel.base else kernel


def matrices_of(members: Sequence[Member]) -> list[NDArray[Any]]:
    """The matrices of precomputed kernels, rows contiguous: a symmetric matrix in column order is read transposed."""
    found = [member.kernel.K for member in members]
    return [K.T if K.flags.f_contiguous and not K.flags.c_contiguous else K for K in found]
