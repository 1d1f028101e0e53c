"""Kernels in groups: few kernels within each group, all groups or few of them (VSKL and CKL)."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern.regularizers.base import Array, Regularizer
from polykern.regularizers.grouping import group_of_each
from polykern.regularizers.power import dual_exponent, norm_of
from polykern.regularizers.simplex import Simplex

if TYPE_CHECKING:
    from polykern.bank import KernelBank


class GroupedNorm(Regularizer):
    """Sparse within groups of kernels, and between groups what q says.

    u_j = sum of t_k over group j,   Omega(t) = 1/2 [ sum_j u_j^{2q} ]^{1/q}.

    q >= 1 keeps every group (VSKL_q of the variable sparsity paper; q = inf is 1/2 max_j u_j^2), 1/2 < q < 1 favours
    few groups (CKL_{1,2q}, composite kernel learning), q = 1/2 or a single group is the simplex. `weights_` are the
    effective weights, on the paper's scale lambda / gamma: for q >= 1 the sums s_j within groups have
    sum_j s_j^{-q/(q-1)} = 1 (q = 1: all of them are 1), for q < 1 they have sum_j s_j^{q/(1-q)} = 1.

    At q = inf a group below the largest u_j costs nothing; its best weight may be infinite, and is a large number. With
    kernels of low rank solvers then end at gaps between 1e-6 and 1e-4.

    Parameters
    ----------
    groups : dict, list of lists, or list of labels
        Group name -> names of its kernels, or one list of kernel names per group, or one label per kernel. Positions
        0, 1, .. may stand for names. Every kernel is in exactly one group.
    q : float, default=2.0
        1/2 <= q <= inf; growing q evens out the groups.

    Examples
    --------
    >>> from polykern.regularizers import GroupedNorm
    >>> GroupedNorm([[0, 1], [2]], q=1.0).weights([3.0, 1.0, 5.0]).tolist()
    [0.75, 0.25, 1.0]
    """

    sparse = True
    grouped = True

    def __init__(self, groups: Any, q: float = 2.0) -> None:
        self.groups = groups
        self.q = q

    # -- which kernel is where -------------------------------------------------------------------------------

    def bind(self, bank: KernelBank, y: ArrayLike) -> Regularizer:
        """This regularizer with its groups found among the kernels of `bank`; the simplex where it is that."""
        group_of = group_of_each(self.groups, bank.n_kernels, tuple(bank.names))
        if self.q == 0.5 or group_of.max() == 0:
            return Simplex()
        bound = copy(self)
        bound._group_of = group_of
        return bound

    def group_of(self, n_kernels: int) -> NDArray[np.intp]:
        """(F,) number of the group of each kernel. Groups that name their kernels need `bind` first."""
        known: NDArray[np.intp] | None = getattr(self, "_group_of", None)
        if known is None:
            return group_of_each(self.groups, n_kernels, None)
        if len(known) != n_kernels:
            raise ValueError(f"GroupedNorm is bound to {len(known)} kernels and got {n_kernels} numbers: bind it anew.")
        return known

    @property
    def group_norm(self) -> float:
        """2q: the norm of the sums u_j."""
        return 2.0 * float(self.q)

    @property
    def dual_group_norm(self) -> float:
        """(2q)* = 2q / (2q - 1): the norm of the largest sqrt(S_k) of each group."""
        return dual_exponent(self.group_norm)

    # -- the function and its weights ------------------------------------------------------------------------

    def value(self, norms: ArrayLike) -> float:
        return 0.5 * norm_of(self._sums(np.abs(np.asarray(norms, dtype=np.float64))), self.group_norm) ** 2

    def conjugate(self, duals: ArrayLike) -> float:
        """1/2 [ sum_j (max_{k in j} S_k)^r ]^{1/r} with r = q / (2q - 1)."""
        largest = self._largest(np.abs(np.asarray(duals, dtype=np.float64)))
        return 0.5 * norm_of(largest, self.dual_group_norm) ** 2

    def weights(self, norms: ArrayLike) -> Array:
        """b_k = t_k / u_j * (u_j / |u|_{2q})^{2 - 2q}: then Omega(t) = 1/2 sum_k t_k^2 / b_k.

        For q <= 1 the minimiser of that sum over the weight set; for q > 1 its saddle point, gamma being maximised. At
        q = inf only the largest groups have finite weights.
        """
        t = np.abs(np.asarray(norms, dtype=np.float64))
        sums, group_of = self._sums(t), self.group_of(len(t))
        if not sums.any():
            return self.start(len(t))
        shares = np.divide(t, sums[group_of], out=np.zeros_like(t), where=sums[group_of] > 0)
        if self.q == 1.0:
            return np.where(sums[group_of] > 0, shares, (1.0 / np.bincount(group_of))[group_of])
        used = shares > 0
        shares[used] *= self._of_groups(sums)[group_of[used]]
        return shares

    def lmo(self, gains: ArrayLike) -> Array:
        """b with 1/2 b . gains = Omega^*(sqrt(gains)): all of a group's weight on its largest gain.

        For q <= 1 the maximiser over the weight set; for q > 1 the saddle point, gamma being minimised.
        """
        g = np.maximum(np.asarray(gains, dtype=np.float64), 0.0)
        if not g.any():
            return self.start(len(g))
        group_of, largest = self.group_of(len(g)), np.sqrt(self._largest(g))
        first = np.array([np.argmax(np.where(group_of == j, g, -1.0)) for j in range(len(largest))])
        b = np.zeros(len(g))
        if self.q == 0.5:
            b[np.argmax(g)] = 1.0
            return b
        used = (largest > 0) | (self.q == 1.0)
        shares = largest / norm_of(largest, self.dual_group_norm)
        b[first[used]] = shares[used] ** (self.dual_group_norm - 2.0)
        return b

    def project(self, point: ArrayLike) -> Array:
        """`point` with its sums within groups brought to the scale of the weights (not the nearest such point).

        For q >= 1 a group without weight gets some: its gamma would be infinite.
        """
        b = np.maximum(np.asarray(point, dtype=np.float64), 0.0)
        group_of, sums = self.group_of(len(b)), self._sums(b)
        if not sums.any() or (self.q >= 1.0 and not sums.all()):
            usual = float(sums[sums > 0].mean()) if sums.any() else 1.0
            empty = sums[group_of] == 0
            b[empty] = usual / np.bincount(group_of)[group_of[empty]]
            sums = self._sums(b)
        if self.q == 1.0:
            return b / sums[group_of]
        if self.q > 1.0:
            return b * norm_of(1.0 / sums, dual_exponent(float(self.q)))
        return b / norm_of(sums, self.q / (1.0 - self.q))

    def start(self, n_kernels: int) -> Array:
        """Equal weights within each group, equal sums of all groups."""
        return self.project(np.zeros(n_kernels))

    def _of_groups(self, sums: Array) -> Array:
        """(u_j / |u|_{2q})^{2 - 2q}; at q = inf its limit, the number of largest groups for each of them."""
        if np.isinf(self.q):
            ties = sums == sums.max()
            return np.where(ties, float(np.count_nonzero(ties)), np.inf)
        shares = sums / norm_of(sums, self.group_norm)
        with np.errstate(over="ignore"):  # a large q and a small group: its weight is as good as infinite
            return np.power(shares, 2.0 - 2.0 * self.q, out=np.zeros_like(shares), where=sums > 0)

    def _sums(self, values: Array) -> Array:
        return np.asarray(np.bincount(self.group_of(len(values)), weights=values), dtype=np.float64)

    def _largest(self, values: Array) -> Array:
        group_of = self.group_of(len(values))
        largest = np.zeros(int(group_of.max()) + 1)
        np.maximum.at(largest, group_of, values)
        return largest
