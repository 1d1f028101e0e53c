"""M3K: maximum-margin multiple kernels for many classes.

Problem   min_{b in B} F(b),  F(b) = max_A sum_i a_i . y_i - 1/2 sum_k b_k tr(A' K_k A),  over the weights of simplex or
          ball whose multi-class kernel margin is at least gamma0; A as in MC-MKL. The paper's A is ours divided by C.
Symbols   planes are tangents of F at visited b, fences are tangents of the concave margin: s . b >= gamma0 on B.
Given     the machine of the multiclass hinge; `regularizers.MarginSimplex`.
Step      the paper solves a linear program with a row for every visited A and n (c - 1) rows for the margin. Here a
          fence is added where a point of the model lies outside, and the next b is the point nearest to the last one
          where the model is below a level (`level`), moved inside along the way to the largest margin. The program's
          own minimum, which the paper takes, is far away while the model is poor (SILP() does that).
Stop      the certified gap between the best machine and the mixed dual point of the program; the paper stops when no
          row is violated or b hardly changes.
Output    weights and coefficients of the best machine.

Cortes, Mohri, Rostamizadeh: Multi-class classification with maximum margin multiple kernel, ICML 2013, section 4.2.
"""

from __future__ import annotations

from polykern.problems.support import Requirements
from polykern.solvers.level import Level


class M3K(Level):
    """First-order method for M3K, on the weight set `MarginSimplex(gamma0)`; gamma0=None is MC-MKL.

    Parameters
    ----------
    share : float, default=0.6
        Where the level lies between the lower (0) and the upper bound (1).

    Examples
    --------
    >>> from polykern.solvers import M3K
    >>> M3K()
    M3K()
    """

    requires = Requirements(most_weight_norm=1.0, most_cut_norm=float("inf"), single_loss=False)

    def __init__(self, share: float = 0.6) -> None:
        super().__init__(share)
