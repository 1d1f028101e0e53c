"""Losses with their conjugates: what each sample pays for its output."""

from polykern.losses.base import Loss
from polykern.losses.epsilon_insensitive import EpsilonInsensitive
from polykern.losses.hinge import Hinge
from polykern.losses.logistic import Logistic
from polykern.losses.multiclass_hinge import MulticlassHinge
from polykern.losses.names import as_loss
from polykern.losses.one_class import OneClass
from polykern.losses.smooth_hinge import SmoothHinge
from polykern.losses.squared import Squared
from polykern.losses.squared_hinge import SquaredHinge

__all__ = [
    "EpsilonInsensitive",
    "Hinge",
    "Logistic",
    "Loss",
    "MulticlassHinge",
    "OneClass",
    "SmoothHinge",
    "Squared",
    "SquaredHinge",
    "as_loss",
]
