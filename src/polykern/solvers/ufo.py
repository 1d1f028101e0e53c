"""UFO-MKL: stochastic subgradient steps for the mixed norm, whose weights are truly sparse.

Problem   min over w of  lambda / 2 |w|_{2,r}^2 + l1 |w|_{2,1} + 1/n sum_i loss,  1 < r <= 2: ours over C n.
Symbols   as in `obscure`; l1' = l1 / lambda, the l1 of MixedNorm; u_k = (sqrt(S_k) - l1')_+, S_k = tr(a' K_k a).
Given     a bank of kernels; any of the losses of `samples.LOSSES`, any number of outputs, no bias.
Step      w minimises the sum of t copies of the regularizer and of all linearised losses so far: with a the mean of
          n C_i times minus the slopes, a <- (1 - 1/t) a - n C_i / t times the slope at sample i, and
          w_k = (u_k / |u|_q)^(q - 2) u_k / sqrt(S_k) sum_i a_i phi_k(x_i), exactly 0 where sqrt(S_k) <= l1'.
          dual, with check_gap (`stochastic.DualStage`): every sample's own coefficients are set to their best.
Stop      after `epochs`, or by the certified gap.
Output    coefficients and weights of the best point, and a certificate.

F. Orabona, L. Jie: Ultra-fast optimization algorithm for sparse multi kernel learning, ICML 2011. The authors fix
r = 1 / (1 - 1 / (2 ln F)); here it is free. With l1 = 0 it is Pegasos.
"""

from __future__ import annotations

import numpy as np

from polykern.problems.support import Requirements
from polykern.solvers.pegasos import Harmonic
from polykern.solvers.stochastic import DualStage, Stage, StochasticSolver


class UFO(StochasticSolver):
    """Steps of length 1 / (lambda t) for MixedNorm(r, l1), 1 < r <= 2, and the norms with l1 = 0; without a bias.

    Parameters
    ----------
    epochs : int, default=50
        Passes over the samples.
    check_gap : bool, default=False
        Go on after these epochs, with dual steps, until the certified gap is within `tol`.
    shuffle : bool, default=True
        A new order of all samples in every epoch; False draws each sample at random from all of them.
    random_state : int or None, default=0
        Seed of the order; None for another one each time.

    Examples
    --------
    >>> from polykern.solvers import UFO
    >>> UFO().requires.mixed
    True
    """

    requires = Requirements(open_below=True, bias=False, exact=False, mixed=True)

    def __init__(
        self, epochs: int = 50, check_gap: bool = False, shuffle: bool = True, random_state: int | None = 0
    ) -> None:
        self.epochs = epochs
        self.check_gap = check_gap
        self.shuffle = shuffle
        self.random_state = random_state

    def plan(self) -> list[Stage]:
        return [Harmonic(self.epochs), *([DualStage(np.inf)] if self.check_gap else [])]
