"""OBSCURE: an online stage that finds the region of the optimum, then projected stochastic subgradient steps.

Problem   min over w of  lambda / 2 |w|_{2,r}^2 + 1/n sum_i loss,  1 < r <= 2: ours over C n, lambda = 1 / sum C_i.
Symbols   q = r / (r - 1); theta_k = q sum_i a_i phi_k(x_i), one coefficient matrix a for all kernels;
          w_k = (|theta_k| / |theta|_{2,q})^(q - 2) theta_k / q = b_k sum_i a_i phi_k(x_i), b in the ball of weights;
          z a subgradient of the loss of one sample at w, gamma_t = lambda eta_t / q.
Given     a bank of kernels; any of the losses of `samples.LOSSES`, any number of outputs, no bias.
Step      online (Algorithm 1): theta <- theta - eta z, so a_i <- a_i - eta / q times the slope at sample i.
          stochastic (Algorithm 2): d = lambda t + s, s <- s + 1/2 (sqrt(d^2 + q (lambda |w| + |z|)^2 / R^2) - d),
          gamma = lambda / (lambda t + s), theta <- (1 - gamma) theta - q gamma / lambda z, then |w| cut back to R.
          dual, with check_gap (`stochastic.DualStage`): every sample's own coefficients are set to their best.
Stop      after `epochs`, after an online epoch without an update, or by the certified gap.
Output    coefficients and weights of the best point, R in `details`, and a certificate.

F. Orabona, L. Jie, B. Caputo: Multi kernel learning with online-batch optimization, JMLR 13, 2012, Algorithms 1 and 2;
the same: Online-batch strongly convex multi kernel learning, CVPR 2010.

The efficient form (section 3.1, and beyond). The scores K_k a of all samples are kept instead of being made at every
visit: a step costs F x n per coefficient that changes, and a visit without a step F x T. Most visits are without a
step, in the online stage ever more of them. Steps are made in blocks of coming samples (`sample_steps`), a block
changes the scores by the rows of its changed samples in one pass, and |theta_k| comes of the scores at hand, freshly
after each epoch. The factor (1 - gamma) is one number.

Where this differs from the paper's text, and why (measured on digits, 12 kernels, and letter, 8 kernels, C = 10):

- Samples are visited in a new order every epoch, as in the authors' own code; `shuffle=False` draws with replacement.
- What the online stage leaves does not depend on C. It is made as long as is best for this C, which lowers the
  objective from 0.042 to 0.022 (digits, 20 epochs) and 0.042 to 0.032 (letter, 5 epochs), and R with it. R^2 is twice
  the objective over lambda at that point: an upper bound of |w*|^2 all the same.
- The stochastic stage goes on with the online stage's step, as much longer as the function was made, where the text
  begins with s = 0: the first steps are then twenty times as long, and the objective rises from 0.022 to 0.14 before it
  falls (digits). A step of eta is too short where q is large, so it counts as if q were 6 at most. Ten epochs later the
  objective is lower in 23 of 24 cases: digits and 1,500 of letter, C = 1, 10, 1,000, r = 1.01, 1.05, 1.25, 2.
- The squared losses have no bounded slope; their steps take the slope where they end, so that none overshoots.
- The solution is the best point seen at the end of an epoch, as long as is best. Averages of points were no better.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polykern.solvers.run import Run
from polykern.solvers.sample_steps import ONLINE, PROJECTED, UPDATES, Rule
from polykern.solvers.samples import Samples, State
from polykern.solvers.stochastic import DualStage, Stage, StochasticSolver, SubgradientStage, Walk

STAGES = ("both", "online", "batch")
# The stochastic stage begins with the online stage's step where q is up to this, with a longer one where q is more.
FIRST_STEP = 6.0
SHORTEST = 1e-6  # length of an online function whose steps are gone on with


class Online(SubgradientStage):
    """Algorithm 1."""

    name = "online"

    def __init__(self, n_epochs: float, eta: float) -> None:
        super().__init__(n_epochs)
        self.eta = eta
        self._updates = -1.0

    def rule(self, samples: Samples, state: State) -> Rule:
        if state.order is None:
            self._updates = float(state.numbers[UPDATES])
        return samples.rule(ONLINE, self.eta)

    def over(self, state: State) -> bool:
        return super().over(state) or float(state.numbers[UPDATES]) == self._updates

    def leave(self, samples: Samples, state: State) -> None:
        point, outputs = samples.point(state)
        length = samples.best_primal_length(point.weights, state.forms, outputs)
        state.multiply(length)
        state.radius = radius(samples, state)
        state.restart_steps(proximal=min(samples.norm[0], FIRST_STEP) / (self.eta * max(length, SHORTEST)))


class Stochastic(SubgradientStage):
    """Algorithm 2."""

    name = "stochastic"

    def enter(self, samples: Samples, state: State) -> None:
        if not np.isfinite(state.radius):
            state.radius = radius(samples, state)
            state.restart_steps(proximal=0.0)

    def rule(self, samples: Samples, state: State) -> Rule:
        return samples.rule(PROJECTED, state.radius)

    def over(self, state: State) -> bool:
        return sum(state.epochs.values()) >= self.n_epochs


def radius(samples: Samples, state: State) -> float:
    """R = sqrt(|w|^2 + 2 / (lambda n) sum of losses), an upper bound of the norm of the optimum."""
    point, outputs = samples.point(state)
    return float(np.sqrt(2.0 * samples.problem.primal(point, outputs=outputs, forms=state.forms)))


class Obscure(StochasticSolver):
    """The authors' two stages, for block norms 1 < r <= 2 (GroupNorm(r), LpBall(p > 1)); without a bias.

    Parameters
    ----------
    epochs : int, default=50
        Passes over the samples, those of the online stage counted.
    eta : float, default=2.0
        Step of the online stage: a larger one is faster, and its R looser.
    stages : {"both", "online", "batch"}, default="both"
        The online stage (Algorithm 1), the stochastic stage (Algorithm 2), or one after the other.
    online_epochs : int, default=5
        How many of the epochs are online where both stages are asked for; fewer once an epoch brings no update.
    check_gap : bool, default=False
        Go on after these epochs, with dual steps, until the certified gap is within `tol`.
    shuffle : bool, default=True
        A new order of all samples in every epoch; False draws each sample at random from all of them.
    random_state : int or None, default=0
        Seed of the order; None for another one each time.

    Examples
    --------
    >>> from polykern.solvers import Obscure
    >>> Obscure(epochs=5, stages="online").requires.describe_norms()
    '1 < p <= inf'
    """

    def __init__(
        self,
        epochs: int = 50,
        eta: float = 2.0,
        stages: str = "both",
        online_epochs: int = 5,
        check_gap: bool = False,
        shuffle: bool = True,
        random_state: int | None = 0,
    ) -> None:
        self.epochs = epochs
        self.eta = eta
        self.stages = stages
        self.online_epochs = online_epochs
        self.check_gap = check_gap
        self.shuffle = shuffle
        self.random_state = random_state

    def check(self) -> None:
        super().check()
        if not 0 < self.eta < np.inf:
            raise ValueError(f"eta of Obscure is {self.eta!r}, expected a positive number such as 2.0.")
        if self.stages not in STAGES:
            raise ValueError(f"stages of Obscure is {self.stages!r}, expected 'both', 'online' or 'batch'.")
        if not self.online_epochs >= 1:
            raise ValueError(
                f"online_epochs of Obscure is {self.online_epochs!r}, expected a whole number from 1; for no online "
                "stage set stages='batch'."
            )

    def plan(self) -> list[Stage]:
        last: list[Stage] = [DualStage(np.inf)] if self.check_gap else []
        if self.stages == "online":
            return [Online(self.epochs, self.eta), *last]
        if self.stages == "batch":
            return [Stochastic(self.epochs), *last]
        first = [Online(min(self.online_epochs, self.epochs), self.eta)]
        return [*first, *([Stochastic(self.epochs)] if self.epochs > self.online_epochs else []), *last]

    def _details(self, walk: Walk, run: Run) -> dict[str, Any]:
        return super()._details(walk, run) | {"radius": walk.state.radius}
