"""Small problems to learn on: toys whose right answer is known, and real data that comes with scikit-learn.

Every function returns a `sklearn.utils.Bunch` with `data` (n_samples, n_features) and `target` (n_samples,).
"""

from polykern.datasets.demo import load_demo
from polykern.datasets.shapes import make_stars
from polykern.datasets.views import make_views
from polykern.datasets.waves import make_sines

__all__ = ["load_demo", "make_sines", "make_stars", "make_views"]
