"""The weights say how fine the border is: two nested stars, the further apart, the wider the kernel that is chosen.

Sonnenburg et al. (JMLR 2006), section 4.1.1: inner star of radius 4, outer one of radius 4.1 to 9.9, 1,000 samples of
each with Gaussian noise of deviation 0.3; five Gaussians exp(-|x - z|^2 / width), width = 2 sigma^2, C = 0.5, gap 1e-3.

    the paper says                                                    measured here (the table this script prints)
    the smallest width is best as long as the problem is difficult    0.01 has weight 0.93 at radius 4.1
    it loses importance with the distance, wider ones gain            0.01 has weight 0 from 5.5 on, 10 has 0.97 at 9.9
    the largest width is never chosen                                 100 has weight exactly 0 at every radius
    the test error quickly drops to zero                              0.49 at radius 4.1, 0.03 at 6, 0 from 8 on

The paper shows the outline of its stars in a figure without a formula; ours is that of `datasets.make_stars`.

    python stars.py [picture.png]
"""

from __future__ import annotations

import sys

import numpy as np

from polykern import MKLClassifier, datasets, kernels

RADII = (4.1, 4.3, 4.5, 5.0, 5.5, 6.0, 7.0, 8.0, 9.0, 9.9)
WIDTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
N_SAMPLES = 2000


def weights_by_distance(radii=RADII, n_samples: int = N_SAMPLES, C: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Kernel weights (radii, widths) and test errors (radii,), trained and tested on `n_samples` each."""
    family = [(f"width {width:g}", kernels.RBF(gamma=1.0 / width)) for width in WIDTHS]
    weights, errors = [], []
    for radius in radii:
        train, test = (datasets.make_stars(n_samples, radius, noise=0.3, random_state=seed) for seed in (0, 1))
        model = MKLClassifier(family, C=C, tol=1e-4).fit(train.data, train.target)
        weights.append(model.weights_)
        errors.append(1.0 - model.score(test.data, test.target))
    return np.array(weights), np.array(errors)


def main() -> None:
    from weight_map import picture, table

    weights, errors = weights_by_distance(n_samples=N_SAMPLES)
    print(table("outer radius", RADII, WIDTHS, weights, test_error=errors))
    picture((sys.argv[1:] or ["stars.png"])[0], "outer radius", RADII, WIDTHS, weights, test_error=errors)


if __name__ == "__main__":
    main()
