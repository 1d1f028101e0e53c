"""M3K: kernel weights whose multi-class margin is at least gamma0."""

from __future__ import annotations

from copy import copy
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polykern.regularizers.base import Array, Regularizer
from polykern.regularizers.kernel_margin import KernelMargin
from polykern.regularizers.lp_ball import LpBall
from polykern.regularizers.margin_range import MarginRange, cut_of, largest_on_sphere, margin_range
from polykern.regularizers.margin_set import INSIDE, MarginSet
from polykern.regularizers.simplex import Simplex

if TYPE_CHECKING:
    from polykern.bank import KernelBank

# "max" admits margins down to this share of the range below the largest: the set keeps an inside.
NEARLY = 1e-4


class MarginSimplex(Regularizer):
    """Kernel weights on the simplex whose multi-class margin on the training samples is at least gamma0.

    B = {b >= 0, sum b = 1, margin(b) >= gamma0},   Omega = 1/2 sum_k t_k^2 / b_k at the best b in B.

    The margin of a sample is how much more similar it is, on average, to the samples of its own class than to those of
    the closest other class; margin(b) is the mean over the samples (`measures.kernel_margin`). The paper centres its
    kernels and scales them to diagonal 1 (normalize="center-diagonal").

    Parameters
    ----------
    gamma0 : float, str or None, default="max"
        The smallest margin; or a share of the way from the smallest margin of a single kernel to the largest of any
        mixture, "50%"; or "max", which is "100%"; or None for no such condition, which is MC-MKL. Weights for "max" are
        within 1e-4 of that range of the largest margin, and so are those for numbers nearer to it.
    q : float, default=1.0
        Norm of the weights: 1 keeps few kernels, q > 1 confines the q-norm in place of the sum.

    Examples
    --------
    >>> from polykern import MKLClassifier
    >>> from polykern.regularizers import MarginSimplex
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MKLClassifier("rbf-grid", loss="multiclass", regularizer=MarginSimplex("50%")).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    sparse = True
    cut = True

    def __init__(self, gamma0: Any = "max", q: float = 1.0) -> None:
        self.gamma0 = gamma0
        self.q = q

    def bind(self, bank: KernelBank, y: ArrayLike) -> Regularizer:
        """The set for these kernels and targets; without a condition on the margin the simplex or the ball."""
        self._check()
        if self.gamma0 is None:
            return Simplex() if self.q == 1.0 else LpBall(p=self.q)
        margin = KernelMargin(bank, class_of_each(y))
        found = margin_range(margin)
        deep, highest = found.weights, found.highest
        if self.q > 1.0:
            if highest <= 0.0:
                raise ValueError(
                    f"no mixture of these kernels has a positive margin (the largest is {highest:.3g}), which weights "
                    f"of norm q = {self.q:g} need; take q=1, or normalize='center-diagonal'."
                )
            deep = largest_on_sphere(cut_of(margin, "mean"), self.q, found.weights, 1e-6)[0]
            highest = margin.mean(deep)
        least = self._least(found, highest)
        bound = copy(self)
        bound._set = MarginSet(margin, least, deep, found.slopes, self.q)
        return bound

    def _least(self, found: MarginRange, highest: float) -> float:
        """gamma0 as a number inside the range."""
        span = highest - found.lowest
        nearly = highest - NEARLY * max(span, NEARLY * abs(highest))
        share = _share(self.gamma0)
        wanted = float(self.gamma0) if share is None else found.lowest + share * span
        if wanted > highest + INSIDE * abs(highest):
            raise ValueError(
                f"gamma0 of MarginSimplex is {self.gamma0!r}, and no mixture of these kernels has a margin above "
                f"{highest:.6g} (single kernels reach down to {found.lowest:.6g}); give a number up to that, a share "
                "of the range such as '50%', or 'max'."
            )
        return min(wanted, nearly)

    def _check(self) -> None:
        number = isinstance(self.gamma0, Real) and not isinstance(self.gamma0, bool) and np.isfinite(float(self.gamma0))
        if not (self.gamma0 is None or number or _share(self.gamma0) is not None):
            raise ValueError(
                f"gamma0 of MarginSimplex is {self.gamma0!r}, expected a number, a share such as '50%', 'max' or None."
            )
        if not isinstance(self.q, Real) or not 1 <= self.q < np.inf:
            raise ValueError(f"q of MarginSimplex is {self.q!r}, expected a number from 1 to below infinity.")

    # -- the set -------------------------------------------------------------------------------------------------

    @property
    def margin_set(self) -> MarginSet:
        """The set that `bind` found."""
        found: MarginSet | None = getattr(self, "_set", None)
        if found is None:
            raise ValueError("MarginSimplex depends on kernels and labels: call bind(bank, y) first, as estimators do.")
        return found

    def value(self, norms: ArrayLike) -> float:
        t = np.abs(np.asarray(norms, dtype=np.float64))
        return _penalty(t, self.weights(t))

    def value_at(self, norms: ArrayLike, weights: Array) -> float:
        """1/2 sum_k t_k^2 / b_k where b is in the set: what Omega is at most."""
        return _penalty(np.abs(norms), weights) if self.margin_set.contains(weights) else self.value(norms)

    def conjugate(self, duals: ArrayLike) -> float:
        return 0.5 * self.margin_set.maximise(np.square(np.asarray(duals, dtype=np.float64)))[0]

    def weights(self, norms: ArrayLike) -> Array:
        """By sequential quadratic programming between the fences; no solver needs it."""
        from scipy.optimize import minimize

        t = np.abs(np.asarray(norms, dtype=np.float64))
        inside, scale = self.margin_set, max(float(np.abs(t).max()), 1e-300)
        smallest = 1e-9
        point = self.start(len(t))
        for _ in range(50):
            fences = np.array(inside.fences).reshape(-1, len(t))
            conditions = [
                {"type": "ineq", "fun": lambda b, s=fences: s @ b - inside.least, "jac": lambda b, s=fences: s},
                {
                    "type": "ineq",
                    "fun": lambda b: 1.0 - np.sum(b**self.q),
                    "jac": lambda b: -self.q * b ** (self.q - 1),
                },
            ]
            found = minimize(
                lambda b: (0.5 * np.sum((t / scale) ** 2 / b), -0.5 * (t / scale) ** 2 / b**2),
                np.maximum(point, smallest),
                jac=True,
                method="SLSQP",
                bounds=[(smallest, 1.0)] * len(t),
                constraints=conditions,
                options={"maxiter": 1000, "ftol": 1e-12},
            )
            point = found.x
            if not inside.fence(point):
                break
        return inside.pull_inside(point)

    def lmo(self, gains: ArrayLike) -> Array:
        return self.margin_set.maximise(np.asarray(gains, dtype=np.float64))[1]

    def project(self, point: ArrayLike) -> Array:
        return self.margin_set.project(np.asarray(point, dtype=np.float64))

    def details(self, weights: Array) -> dict[str, float]:
        """The margin of the weights, what gamma0 came to, and the range that there is."""
        inside = self.margin_set
        lowest = float(min(inside.margin.mean(single) for single in np.eye(len(weights))[~inside.margin.null]))
        return {
            "margin": inside.margin.mean(weights),
            "gamma0": inside.least,
            "smallest_margin": lowest,
            "largest_margin": inside.depth,
        }

    def start(self, n_kernels: int) -> Array:
        """The uniform point, or what lies nearest to it on the way to the largest margin."""
        even = np.full(n_kernels, n_kernels ** (-1.0 / self.q))
        return self.margin_set.pull_inside(even)


def class_of_each(y: ArrayLike) -> NDArray[np.intp]:
    """(n,) class of every sample, from signs of one output, or from one output per class."""
    targets = np.asarray(y, dtype=np.float64)
    columns = targets.reshape(len(targets), -1)
    if columns.shape[1] == 1 and np.isin(columns, (-1.0, 1.0)).all():
        return (columns[:, 0] > 0).astype(np.intp)
    if columns.shape[1] > 1 and np.all(np.sum(columns > 0, axis=1) == 1):
        return np.argmax(columns, axis=1)
    raise ValueError(
        "MarginSimplex needs the class of every sample: two classes, or several with multiclass='joint' or 'ovr'."
    )


def _share(gamma0: Any) -> float | None:
    """The share of the range that a string stands for."""
    if not isinstance(gamma0, str):
        return None
    if gamma0 == "max":
        return 1.0
    try:
        share = float(gamma0.removesuffix("%")) / 100.0
    except ValueError:
        return None
    return share if gamma0.endswith("%") and 0.0 <= share <= 1.0 else None


def _penalty(norms: Array, weights: Array) -> float:
    """1/2 sum_k t_k^2 / b_k, terms of t_k = 0 left out."""
    used = norms > 0
    with np.errstate(divide="ignore"):
        return 0.5 * float(np.sum(np.square(norms[used]) / weights[used]))
