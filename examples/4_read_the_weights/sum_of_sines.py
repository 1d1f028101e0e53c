"""The weights take a sum apart: a line, a slow sine and a fast one each get a kernel of their own width, the rest zero.

Sonnenburg et al. (JMLR 2006), section 4.1.2: f(x) = sin(x) + sin(b x) + x for increasing b, from 1,000 samples; ten
Gaussians exp(-(x - z)^2 / width), width = 2 sigma^2 from narrow to effectively linear, C = 5, gap 1e-5.

    the paper says                                     measured here (the table this script prints)
    the width of the fast sine falls with frequency    from 0.1 at b = 5 to 0.001 at b = 40, with weight 0.7
    a medium width (1) is the slow sine                1 has weight 0.2 from b = 10 on
    the largest selected width (100) is the line       10 has weight 0.2 to 0.05; 50 and 100 have weight exactly 0
    most weights are zero                              6 or 7 of the 10 are exactly 0

Which wide kernel takes the line depends on the interval of x, which the paper does not give; here it is [0, 2 pi]. Its
text names two of the ten widths, 1 and 100; the other eight are ours.

    python sum_of_sines.py [picture.png]
"""

from __future__ import annotations

import sys

import numpy as np

from polykern import MKLRegressor, datasets, kernels

FREQUENCIES = (3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 40.0)
WIDTHS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0, 50.0, 100.0)
N_SAMPLES = 1000


def weights_by_fast_frequency(
    frequencies=FREQUENCIES, n_samples: int = N_SAMPLES, C: float = 5.0, slope: float = 1.0
) -> np.ndarray:
    """Kernel weights (frequencies, widths) of regression on sin(x) + sin(frequency x) + slope x."""
    family = [(f"width {width:g}", kernels.RBF(gamma=1.0 / width)) for width in WIDTHS]
    weights = []
    for frequency in frequencies:
        waves = datasets.make_sines(n_samples, (1.0, frequency), slope=slope, random_state=0)
        model = MKLRegressor(family, C=C, epsilon=0.1, tol=1e-5).fit(waves.data, waves.target)
        weights.append(model.weights_)
    return np.array(weights)


def main() -> None:
    from weight_map import picture, table

    weights = weights_by_fast_frequency(n_samples=N_SAMPLES)
    print(table("fast frequency", FREQUENCIES, WIDTHS, weights))
    picture((sys.argv[1:] or ["sum_of_sines.png"])[0], "frequency of the fast sine", FREQUENCIES, WIDTHS, weights)


if __name__ == "__main__":
    main()
