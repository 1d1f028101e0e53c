"""MC-MKL: all classes in one problem with one set of kernel weights, as a semi-infinite linear program.

Problem   min_{b in simplex} F(b),  F(b) = max_A sum_i a_i . y_i - 1/2 sum_k b_k tr(A' K_k A),  rows a_i with
          C_i y_i - a_i >= 0 and sum_j a_ij = 0: the dual of the multiclass hinge, one output per class.
Given     the machine of the multiclass hinge for fixed weights (`machines.CrammerSinger`); the simplex.
Step      SILP's: the machine at b, its plane, and the program's minimum as the next b.
Stop      the certified gap between the best machine and the program's bound.
Output    weights and coefficients of the best machine.

Zien, Ong: Multiclass multiple kernel learning, ICML 2007, section 4.
"""

from __future__ import annotations

from polykern.problems.support import Requirements
from polykern.solvers.silp import SILP


class MCMKL(SILP):
    """The paper's algorithm for the joint multiclass problem; the default solver takes fewer machines.

    Examples
    --------
    >>> from polykern.solvers import MCMKL
    >>> MCMKL().requires.single_loss
    False
    """

    requires = Requirements(most_weight_norm=1.0, single_loss=False)
