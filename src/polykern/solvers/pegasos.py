"""Pegasos for multiple kernels: stochastic subgradient steps of length 1 / (lambda t).

Problem   that of `obscure`, in its letters.
Given     a bank of kernels; any of the losses of `samples.LOSSES`, any number of outputs, no bias.
Step      theta <- (1 - 1/t) theta - q / (lambda t) z: Algorithm 2 of OBSCURE with s_t = 0. So a is the mean of all
          subgradients so far, n C_i times minus the slope of the loss at sample i, and after whole epochs a dual point.
Stop      after `epochs`, or by the certified gap.
Output    coefficients and weights of the best point, and a certificate.

S. Shalev-Shwartz, Y. Singer, N. Srebro: Pegasos, primal estimated sub-gradient solver for SVM, ICML 2007; as
"Pegasos-MKL" in section 5.3 of the OBSCURE paper (JMLR 13, 2012), which it is there to be compared with.
"""

from __future__ import annotations

import numpy as np

from polykern.solvers.sample_steps import HARMONIC, Rule
from polykern.solvers.samples import Samples, State
from polykern.solvers.stochastic import Stage, StochasticSolver, SubgradientStage


class Harmonic(SubgradientStage):
    """Steps of length 1 / (lambda t)."""

    name = "subgradient"

    def rule(self, samples: Samples, state: State) -> Rule:
        return samples.rule(HARMONIC)


class Pegasos(StochasticSolver):
    """Steps of length 1 / (lambda t), for block norms 1 < r <= 2 (GroupNorm(r), LpBall(p > 1)); without a bias.

    Parameters
    ----------
    epochs : int, default=50
        Passes over the samples.
    check_gap : bool, default=False
        Go on after these epochs until the certified gap is within `tol`.
    shuffle : bool, default=True
        A new order of all samples in every epoch; False draws each sample at random from all of them.
    random_state : int or None, default=0
        Seed of the order; None for another one each time.

    Examples
    --------
    >>> from polykern.solvers import Pegasos
    >>> Pegasos(epochs=100)
    Pegasos(epochs=100)
    """

    def __init__(
        self, epochs: int = 50, check_gap: bool = False, shuffle: bool = True, random_state: int | None = 0
    ) -> None:
        self.epochs = epochs
        self.check_gap = check_gap
        self.shuffle = shuffle
        self.random_state = random_state

    def plan(self) -> list[Stage]:
        return [Harmonic(np.inf if self.check_gap else self.epochs)]
