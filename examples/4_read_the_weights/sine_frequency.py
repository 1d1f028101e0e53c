"""The weights say how fast a signal changes: the faster the sine, the narrower the kernel that regression chooses.

Sonnenburg et al. (JMLR 2006), section 4.1.2: a sine from 1,000 samples, for increasing frequency; five Gaussians
exp(-(x - z)^2 / width), width = 2 sigma^2 in 0.005, 0.05, 0.5, 1, 10 (the text says three and lists five), C = 10.

    the paper says                                     measured here (the table this script prints)
    the weights switch to the width that fits best     from width 10 over 1, 0.5 and 0.05 to 0.005

The paper gives neither interval, nor noise, nor tube: here x is uniform on [0, 2 pi], there is no noise, and epsilon is
0.1, which is why a good fit has an error just below 0.1.

    python sine_frequency.py [picture.png]
"""

from __future__ import annotations

import sys

import numpy as np

from polykern import MKLRegressor, datasets, kernels

FREQUENCIES = (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0)
WIDTHS = (0.005, 0.05, 0.5, 1.0, 10.0)
N_SAMPLES = 1000


def weights_by_frequency(
    frequencies=FREQUENCIES, n_samples: int = N_SAMPLES, C: float = 10.0
) -> tuple[np.ndarray, np.ndarray]:
    """Kernel weights (frequencies, widths) and root mean squared test errors (frequencies,)."""
    family = [(f"width {width:g}", kernels.RBF(gamma=1.0 / width)) for width in WIDTHS]
    weights, errors = [], []
    for frequency in frequencies:
        train, test = (datasets.make_sines(n_samples, (frequency,), random_state=seed) for seed in (0, 1))
        model = MKLRegressor(family, C=C, epsilon=0.1, tol=1e-3).fit(train.data, train.target)
        weights.append(model.weights_)
        errors.append(np.sqrt(np.mean((model.predict(test.data) - test.target) ** 2)))
    return np.array(weights), np.array(errors)


def main() -> None:
    from weight_map import picture, table

    weights, errors = weights_by_frequency(n_samples=N_SAMPLES)
    print(table("frequency", FREQUENCIES, WIDTHS, weights, test_error=errors))
    picture((sys.argv[1:] or ["sine_frequency.png"])[0], "frequency of the sine", FREQUENCIES, WIDTHS, weights)


if __name__ == "__main__":
    main()
