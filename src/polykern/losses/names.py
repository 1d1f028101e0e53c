"""From what a user types for `loss=` to a loss."""

from __future__ import annotations

import difflib
from typing import Any

from polykern.losses.base import Loss
from polykern.losses.epsilon_insensitive import EpsilonInsensitive
from polykern.losses.hinge import Hinge
from polykern.losses.logistic import Logistic
from polykern.losses.multiclass_hinge import MulticlassHinge
from polykern.losses.one_class import OneClass
from polykern.losses.smooth_hinge import SmoothHinge
from polykern.losses.squared import Squared
from polykern.losses.squared_hinge import SquaredHinge

CLASSIFICATION = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "smooth_hinge": SmoothHinge,
    "logistic": Logistic,
    "multiclass": MulticlassHinge,
}
REGRESSION = {"epsilon_insensitive": EpsilonInsensitive, "squared": Squared}
NOVELTY = {"one_class": OneClass}
LOSSES: dict[str, type[Loss]] = {**CLASSIFICATION, **REGRESSION, **NOVELTY}


def as_loss(spec: Any, *, epsilon: float = 0.1, nu: float = 0.5) -> Loss:
    """The loss that `spec` names, or `spec` itself; its parameters are checked here."""
    loss = _from_name(spec, epsilon, nu) if isinstance(spec, str) else spec
    if not isinstance(loss, Loss):
        raise TypeError(
            f"loss is {spec!r}, expected one of {', '.join(map(repr, LOSSES))} or an object of polykern.losses."
        )
    _check_parameters(loss)
    return loss


def _from_name(name: str, epsilon: float, nu: float) -> Loss:
    if name not in LOSSES:
        close = difflib.get_close_matches(name, LOSSES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"loss is {name!r}, expected one of {', '.join(map(repr, LOSSES))}.{hint}")
    if name == "epsilon_insensitive":
        return EpsilonInsensitive(epsilon=epsilon)
    return OneClass(nu=nu) if name == "one_class" else LOSSES[name]()


def _check_parameters(loss: Loss) -> None:
    if isinstance(loss, SmoothHinge) and not loss.sigma > 0:
        raise ValueError(f"sigma of SmoothHinge is {loss.sigma!r}, expected a positive number such as 10.")
    if isinstance(loss, EpsilonInsensitive) and not loss.epsilon >= 0:
        raise ValueError(f"epsilon is {loss.epsilon!r}, expected a number >= 0 in the units of y, such as 0.1.")
    if isinstance(loss, OneClass) and not 0 < loss.nu <= 1:
        raise ValueError(f"nu is {loss.nu!r}, expected the share of outliers, a number in (0, 1].")
