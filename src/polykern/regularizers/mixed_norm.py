"""The (2, p) group norm, squared, and the (2, 1) norm beside it: UFO-MKL's regularizer, with truly sparse weights.

    Omega(t)  = 1/2 |t|_p^2 + l1 sum_k t_k                    t_k = |f_k|,  1 <= p <= 2
    Omega*(s) = 1/2 |u|_q^2,   u_k = (s_k - l1)_+             q = p / (p - 1)

Where Omega* is attained, t_k = |u|_q^(2 - q) u_k^(q - 1) and s_k = |t|_p^(2 - p) t_k^(p - 1) + l1. Kernels are weighted
by b_k = t_k / s_k, so that f_k = b_k K_k a: exactly zero where s_k = sqrt(a' K_k a) is at most l1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polykern.regularizers.base import Array, Regularizer
from polykern.regularizers.group_norm import GroupNorm
from polykern.regularizers.power import dual_exponent, norm_of


class MixedNorm(Regularizer):
    """Half the squared (2, p) group norm, and a price l1 on every block norm.

    Omega(t) = 1/2 |t|_p^2 + l1 sum_k t_k. The second term sets kernels to exactly zero whatever p is, which alone
    p > 1 never does; l1 = 0 is GroupNorm(p).

    There is no set of weights behind it that does not depend on the data; the weights of a solution are what its
    kernels are multiplied by, b_k = |f_k| / sqrt(a' K_k a), at most 1.

    Parameters
    ----------
    p : float, default=1.5
        Norm of the block norms, 1 <= p <= 2; solvers need p > 1. The authors of UFO-MKL have
        p = 1 / (1 - 1 / (2 ln F)) for F kernels.
    l1 : float, default=1.0
        Price of a block norm, not negative, in the units of Omega + C * sum of losses. The paper divides that by C n:
        its price is l1 / (C n), and this one is C n times the paper's. A kernel is left out where sqrt(a' K_k a) stays
        below it: at l1 = max_k sqrt(a' K_k a), for the a of constant outputs, the last one goes.

    Examples
    --------
    >>> from polykern.regularizers import MixedNorm
    >>> MixedNorm(p=2.0, l1=1.0).lmo([9.0, 4.0, 1.0]).round(3).tolist()
    [0.667, 0.5, 0.0]
    """

    mixed = True

    def __init__(self, p: float = 1.5, l1: float = 1.0) -> None:
        self.p = p
        self.l1 = l1

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        return self.l1 > 0 or self.p == 1.0

    @property
    def block_norm(self) -> float:
        """p, under the name that it has for all norms of block norms."""
        return float(self.p)

    def value(self, norms: ArrayLike) -> float:
        t = np.abs(np.asarray(norms, dtype=np.float64))
        return 0.5 * norm_of(t, self.block_norm) ** 2 + self.l1 * float(t.sum())

    def conjugate(self, duals: ArrayLike) -> float:
        return 0.5 * norm_of(self._excess(duals), dual_exponent(self.block_norm)) ** 2

    def weights(self, norms: ArrayLike) -> Array:
        """b_k = t_k / s_k with s = Omega'(t): the weights at which these block norms are optimal."""
        t = np.abs(np.asarray(norms, dtype=np.float64))
        size = norm_of(t, self.block_norm)
        b = np.zeros_like(t)
        used = t > 0
        b[used] = t[used] / (size * (t[used] / size) ** (self.block_norm - 1.0) + self.l1)
        return b

    def lmo(self, gains: ArrayLike) -> Array:
        """b_k = t_k / sqrt(gains_k) where t attains Omega*(sqrt(gains)); some t where several do (p = 1)."""
        s = np.sqrt(np.maximum(np.asarray(gains, dtype=np.float64), 0.0))
        u = self._excess(s)
        if not u.any():
            return np.zeros_like(s)
        b = np.zeros_like(s)
        used = u > 0
        b[used] = GroupNorm(self.block_norm).lmo(u**2)[used] * u[used] / s[used]
        return b

    def project(self, point: ArrayLike) -> Array:
        """The nearest weights in the ball of GroupNorm(p), where those of all solutions lie."""
        b = np.maximum(np.asarray(point, dtype=np.float64), 0.0)
        ball = GroupNorm(self.block_norm)
        return b if norm_of(b, ball.weight_norm) <= 1.0 else ball.project(b)

    def _excess(self, duals: ArrayLike) -> Array:
        return np.maximum(np.abs(np.asarray(duals, dtype=np.float64)) - self.l1, 0.0)
