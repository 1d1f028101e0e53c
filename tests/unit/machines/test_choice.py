"""The machine follows from the facts that a loss declares."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.machines import rbf_kernel
from polykern import losses
from polykern.losses import Loss
from polykern.machines import SMO, CombinedMatrix, Newton, machine_for
from polykern.problems.machine import MachineProblem


class Absolute(Loss):
    """|f - y|, as somebody else would write it."""

    targets = "real"

    def value(self, f, y):
        return np.abs(f - y)

    def derivative(self, f, y):
        return np.sign(f - y)

    def conjugate(self, u, y):
        return u * y

    def dual_bounds(self, y, costs):
        return -costs, costs

    def linear_form(self, y):
        return y, 0.0

    def kinks(self, y):
        return np.stack([y, y])


class LogCosh(Loss):
    """log cosh(f - y): smooth, between squared and absolute."""

    targets, smooth = "real", True

    def value(self, f, y):
        return np.logaddexp(f - y, y - f) - np.log(2.0)

    def derivative(self, f, y):
        return np.tanh(f - y)

    def second_derivative(self, f, y):
        return 1.0 - np.tanh(f - y) ** 2

    def conjugate(self, u, y):
        u = np.clip(u, -1 + 1e-16, 1 - 1e-16)
        return u * y + u * np.arctanh(u) + 0.5 * np.log1p(-(u**2))

    def dual_bounds(self, y, costs):
        return -costs, costs


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        (losses.Hinge(), SMO),
        (losses.EpsilonInsensitive(), SMO),
        (losses.OneClass(), SMO),
        (losses.SquaredHinge(), Newton),
        (losses.SmoothHinge(), Newton),
        (losses.Logistic(), Newton),
        (losses.Squared(), Newton),
        (Absolute(), SMO),
        (LogCosh(), Newton),
    ],
    ids=repr,
)
def test_machine_for(loss, kind):
    assert isinstance(machine_for(loss), kind)


@pytest.mark.parametrize("loss", [Absolute(), LogCosh()], ids=repr)
def test_losses_of_others_are_solved(loss):
    K, y = rbf_kernel(50, seed=1), np.random.default_rng(2).normal(size=50)
    problem = MachineProblem(loss, y, np.full(50, 2.0), True)
    solution = machine_for(loss).solve(CombinedMatrix.from_array(K), problem, tol=1e-7)
    assert -1e-10 <= solution.gap <= 1e-7


def test_what_a_loss_declares_it_must_define():
    class Promises(Loss):
        smooth = True

    class PromisesLess(Loss):
        pass

    with pytest.raises(TypeError, match="Promises declares itself smooth, so it must define second_derivative"):
        machine_for(Promises())
    with pytest.raises(TypeError, match="PromisesLess declares itself piecewise linear .* must define linear_form"):
        machine_for(PromisesLess())
    with pytest.raises(TypeError, match="loss is 'hinge', expected an object of polykern.losses"):
        machine_for("hinge")
