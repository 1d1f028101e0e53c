"""The hinge of many classes at once (Crammer and Singer)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polykern.losses.base import DOMAIN_SLACK, Array, Loss, as_arrays


class MulticlassHinge(Loss):
    """How far the output of the true class is from being one above all others.

    With one output per class, f in R^c, and y the true class as a row of zeros and a one:

    loss(f, y) = max_j (1 - y_j + f_j) - y . f,   conjugate(u, y) = y . u  where u + y lies in the simplex.

    It looks at all outputs of a sample together, so the classes are one problem, without a bias: adding one function to
    all of them changes nothing. Two classes: the hinge of the difference of their outputs.

    Examples
    --------
    >>> from polykern.losses import MulticlassHinge
    >>> MulticlassHinge().value([[2.0, 0.5, 1.5]], [[1.0, 0.0, 0.0]]).tolist()
    [0.5]
    """

    targets = "classes"
    joint = True

    def value(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        return np.asarray(np.max(f + (1.0 - y), axis=1) - np.sum(f * y, axis=1))

    def derivative(self, outputs: ArrayLike, targets: ArrayLike) -> Array:
        f, y = as_arrays(outputs, targets)
        slopes = -y
        slopes[np.arange(len(f)), np.argmax(f + (1.0 - y), axis=1)] += 1.0
        return slopes

    def conjugate(self, slopes: ArrayLike, targets: ArrayLike) -> Array:
        u, y = as_arrays(slopes, targets)
        inside = (np.abs(u.sum(axis=1)) <= DOMAIN_SLACK) & np.all(u + y >= -DOMAIN_SLACK, axis=1)
        return np.where(inside, np.sum(u * y, axis=1), np.inf)
