"""How many classes become one problem or several: what `loss` and `multiclass` come to together."""

from __future__ import annotations

from typing import Any

from polykern.estimators._parameters import check_choice
from polykern.losses import Hinge, Loss, as_loss

STRATEGIES = ("auto", "ovr", "ovo", "joint")


def loss_and_strategy(loss: Any, multiclass: Any, share_weights: bool) -> tuple[Loss, str]:
    """The loss, and "joint", "ovr" or "ovo"; a hinge of all classes together is the multiclass hinge."""
    check_choice("multiclass", multiclass, STRATEGIES)
    resolved = as_loss(loss)
    if resolved.joint and multiclass in ("ovr", "ovo"):
        raise ValueError(
            f"loss={loss!r} treats all classes in one problem, and multiclass={multiclass!r} splits them up; "
            f"take loss='hinge' with multiclass={multiclass!r}, or multiclass='joint'."
        )
    if multiclass == "joint" and isinstance(resolved, Hinge):
        resolved = as_loss("multiclass")
    if multiclass == "joint" and not resolved.joint:
        raise ValueError(
            f"multiclass='joint' comes with the hinge, and loss is {loss!r}; take loss='hinge' or 'multiclass', or "
            "multiclass='ovr' or 'ovo'."
        )
    if resolved.joint and not share_weights:
        raise ValueError(
            "share_weights is False, and the joint problem has one set of kernel weights; take multiclass='ovr' or "
            "'ovo' for weights per class."
        )
    return resolved, "joint" if resolved.joint else "ovo" if multiclass == "ovo" else "ovr"
