"""Weights that sum to one: sparse multiple kernel learning."""

from __future__ import annotations

from polykern.regularizers.power import PowerRegularizer


class Simplex(PowerRegularizer):
    """Kernel weights on the simplex; most of them are exactly zero at the optimum.

    B = {b >= 0, sum b = 1},   Omega(t) = 1/2 (sum_k t_k)^2.

    Examples
    --------
    >>> from polykern.regularizers import Simplex
    >>> Simplex().weights([3.0, 1.0]).tolist()
    [0.75, 0.25]
    """

    sparse = True

    @property
    def weight_norm(self) -> float:
        return 1.0
