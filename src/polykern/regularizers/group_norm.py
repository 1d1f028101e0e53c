"""The (2, p) group norm: the p-ball in the letters of the OBSCURE papers."""

from __future__ import annotations

import numpy as np

from polykern.regularizers.power import PowerRegularizer


class GroupNorm(PowerRegularizer):
    """Half the squared (2, p) group norm of the function.

    Omega(t) = 1/2 |t|_p^2, 1 <= p <= 2: the same family as LpBall, named by the norm of the blocks:
    GroupNorm(2p / (p + 1)) = LpBall(p), and GroupNorm(2) = LpBall(inf) is the plain sum of the kernels.

    Parameters
    ----------
    p : float, default=1.5
        Norm of the block norms, 1 <= p <= 2; towards 1 it favours few kernels.

    Examples
    --------
    >>> from polykern.regularizers import GroupNorm, LpBall
    >>> GroupNorm(p=4 / 3).weights([3.0, 1.0]).round(6).tolist() == LpBall(p=2.0).weights([3.0, 1.0]).round(6).tolist()
    True
    """

    def __init__(self, p: float = 1.5) -> None:
        self.p = p

    @property
    def block_norm(self) -> float:
        return float(self.p)

    @property
    def weight_norm(self) -> float:
        return np.inf if self.p == 2.0 else self.p / (2.0 - self.p)

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        return self.weight_norm == 1.0
