"""Which machine solves a loss, from the facts that the loss declares."""

from __future__ import annotations

from polykern.losses import Loss, MulticlassHinge
from polykern.machines.base import Machine
from polykern.machines.crammer_singer import CrammerSinger
from polykern.machines.newton import Newton
from polykern.machines.smo import SMO


def machine_for(loss: Loss) -> Machine:
    """Newton for a loss that declares itself smooth, SMO for one that is piecewise linear; your own losses included.

    The multiclass hinge, which looks at all outputs together, has a machine of its own.
    """
    if not isinstance(loss, Loss):
        raise TypeError(f"loss is {loss!r}, expected an object of polykern.losses; as_loss makes one from a name.")
    if loss.joint:
        return _joint_machine(loss)
    needed = "second_derivative" if loss.smooth else "linear_form"
    if getattr(type(loss), needed) is getattr(Loss, needed):
        kind = "smooth" if loss.smooth else "piecewise linear (smooth = False)"
        raise TypeError(f"{type(loss).__name__} declares itself {kind}, so it must define {needed}.")
    return Newton() if loss.smooth else SMO()


def _joint_machine(loss: Loss) -> Machine:
    if isinstance(loss, MulticlassHinge):
        return CrammerSinger()
    raise TypeError(f"{type(loss).__name__} looks at all outputs together, and the only such loss is MulticlassHinge.")
