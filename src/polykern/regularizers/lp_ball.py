"""Weights in a p-ball: p-norm multiple kernel learning."""

from __future__ import annotations

from polykern.regularizers.power import PowerRegularizer


class LpBall(PowerRegularizer):
    """Kernel weights in the unit p-ball.

    B = {b >= 0, |b|_p <= 1},   Omega(t) = 1/2 |t|_r^2  with  r = 2p / (p + 1).

    p = 1 is the simplex (sparse), growing p spreads the weights, p = inf is the plain sum of the kernels.

    Parameters
    ----------
    p : float, default=2.0
        Norm of the weights, 1 <= p <= inf.

    Examples
    --------
    >>> from polykern.regularizers import LpBall
    >>> LpBall(p=2.0).start(4).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """

    def __init__(self, p: float = 2.0) -> None:
        self.p = p

    @property
    def weight_norm(self) -> float:
        return float(self.p)

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        return self.weight_norm == 1.0
