"""The stars of Sonnenburg et al. (2006), section 4.1.1: the distance of the classes sets the right kernel width."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch, check_random_state

from polykern.datasets._checks import check_count, check_number

INNER_RADIUS = 4.0


def make_stars(
    n_samples: int = 2000,
    outer_radius: float = 5.0,
    *,
    noise: float = 0.3,
    points: int = 5,
    depth: float = 0.3,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Two concentric outlines of stars, the classes -1 (inside, radius 4) and +1 (outside).

        x = radius * (1 + depth * sin(points * angle)) * (cos angle, sin angle) + noise * gaussian

    The paper draws 2,000 samples with noise 0.3 and moves the outer radius from 4.1 (hardly separable, narrow kernels
    win) to 9.9 (nearly a circle suffices, wide kernels win). It shows its outline in a figure without a formula: the
    sine above is ours. `widths` holds the paper's five values of 2 sigma^2, kernels exp(-|x - z|^2 / width).

    Returns a Bunch with `data` (n_samples, 2), `target`, `widths`, `inner_radius` and `outer_radius`.
    """
    n_samples, points = check_count("n_samples", n_samples, 2), check_count("points", points, 1)
    outer_radius = check_number("outer_radius", outer_radius, above=INNER_RADIUS)
    noise, depth = check_number("noise", noise, least=0.0), check_number("depth", depth, least=0.0)
    random = check_random_state(random_state)
    target = random.permutation(np.where(np.arange(n_samples) % 2, 1, -1))
    angle = random.uniform(0.0, 2.0 * np.pi, n_samples)
    radius = np.where(target > 0, outer_radius, INNER_RADIUS) * (1.0 + depth * np.sin(points * angle))
    outline = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Bunch(
        data=outline + noise * random.standard_normal((n_samples, 2)),
        target=target,
        widths=(0.01, 0.1, 1.0, 10.0, 100.0),
        inner_radius=INNER_RADIUS,
        outer_radius=outer_radius,
    )
