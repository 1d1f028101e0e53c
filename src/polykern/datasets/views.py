"""Several views of the same samples, of which it is known how much each one tells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import Bunch, check_random_state

from polykern.datasets._checks import check_count, check_number


def make_views(
    n_samples: int = 300,
    informative: Sequence[float] = (1.0, 1.0, 0.0, 0.0),
    *,
    features: int = 5,
    noise: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Two classes seen through several views, of which some tell the classes apart and the others are noise.

        view_v(i) = informative_v * y_i * direction_v + noise * gaussian,     |direction_v| = 1,  y_i in {-1, +1}

    A view of strength 0 is pure noise. For every other one the best rule that sees this view alone is linear, and errs
    with the probability that a standard Gaussian exceeds informative_v / noise; all views together are as good as one
    view of strength |informative|_2.

    Returns a Bunch with `data`, `target` (-1 or +1), `views` (name -> slice of columns), `kernel_columns` (the same as
    a list of (name, columns)), `strengths` (`informative` over its sum) and `directions` (one unit vector per view).
    """
    n_samples, features = check_count("n_samples", n_samples, 2), check_count("features", features, 1)
    strengths = _check_strengths(informative)
    noise = check_number("noise", noise, least=0.0)
    random = check_random_state(random_state)
    target = random.permutation(np.where(np.arange(n_samples) % 2, 1, -1))
    directions = random.standard_normal((len(strengths), features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    signal = target[:, None, None] * (strengths[:, None] * directions)
    data = signal + noise * random.standard_normal(signal.shape)
    views = {_name(v, strength): slice(v * features, (v + 1) * features) for v, strength in enumerate(strengths)}
    return Bunch(
        data=data.reshape(n_samples, -1),
        target=target,
        views=views,
        kernel_columns=list(views.items()),
        strengths=strengths / strengths.sum(),
        directions=directions,
    )


def _check_strengths(informative: Sequence[float]) -> np.ndarray:
    strengths = np.array([check_number(f"informative[{v}]", s, least=0.0) for v, s in enumerate(informative)])
    if not strengths.any():
        raise ValueError(
            f"informative is {informative!r}, expected one strength per view, at least one of them above 0."
        )
    return strengths


def _name(position: int, strength: float) -> str:
    return f"{'signal' if strength > 0 else 'noise'} {position}"
