"""The waves of Sonnenburg et al. (2006), section 4.1.2: every frequency asks for its own kernel width."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import Bunch, check_random_state

from polykern.datasets._checks import check_count, check_number


def make_sines(
    n_samples: int = 1000,
    frequencies: Sequence[float] = (1.0, 10.0),
    *,
    slope: float = 0.0,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """A sum of sine waves and a line, on [0, 2 pi].

        target = sum_a sin(a x) + slope * x + noise * gaussian,      x uniform on [0, 2 pi]

    One frequency is the paper's first experiment, with the five RBF kernels exp(-(x - z)^2 / width) of `widths`; two
    frequencies and a slope are its second, f(x) = sin(ax) + sin(bx) + cx, where the weights should show one narrow
    kernel for the fast wave, a wider one for the slow wave, and a nearly linear one. Interval and noise are ours, the
    paper gives none.

    Returns a Bunch with `data` (n_samples, 1), `target`, `clean` (the target without its noise), `components`
    (len(frequencies) + 1, n_samples; the waves, then the line) and `widths`.
    """
    n_samples = check_count("n_samples", n_samples, 2)
    rates = np.array([check_number(f"frequencies[{a}]", rate, above=0.0) for a, rate in enumerate(frequencies)])
    slope, noise = check_number("slope", slope), check_number("noise", noise, least=0.0)
    random = check_random_state(random_state)
    x = random.uniform(0.0, 2.0 * np.pi, n_samples)
    components = np.vstack([np.sin(np.outer(rates, x)), slope * x[None, :]])
    clean = components.sum(axis=0)
    return Bunch(
        data=x[:, None],
        target=clean + noise * random.standard_normal(n_samples),
        clean=clean,
        components=components,
        widths=(0.005, 0.05, 0.5, 1.0, 10.0),
    )
