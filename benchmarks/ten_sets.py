"""Ten data sets for comparing methods: views of the same samples, kernels on each of them, seeded splits.

    set            training / test  classes  views                                                   kernels
    ionosphere       245 / 106            2  all 33 columns, three blocks of them                         16
    sonar            145 / 63             2  all 60 bands, six blocks of ten                              28
    heart            189 / 81             2  all 13 columns, three blocks of them                         16
    spambase       1,000 / 1,000          2  all 57 columns, words (two halves), signs, capitals          20
    mfeat            200 / 1,000         10  six descriptors of digits                                    24
    proteinfold      about 347 / 347     27  twelve descriptions of proteins (`kpca27`)                   36
    tcga             150 / 70             3  mRNA and miRNA                                                8
    leaves           400 / 1,000         100  three descriptors of leaves                                  12
    flowers17        680 / 340           17  seven descriptors of images                                  28
    msrc             147 / 63             7  five descriptors of images                                   20

Every view has RBF kernels of a few widths, given as multiples of 1 / (mean squared distance of the training samples),
and a linear one. Columns have mean 0 and variance 1 on the training part. The histograms of flowers17 have sum 1
instead, and the chi2 distance in the place of the squared one.

Splits are seeded and stratified, but for flowers17, which comes with three: its `train` and `test` parts are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from common import load
from sklearn.model_selection import train_test_split

from polykern.kernels import Precomputed, base_block
from polykern.parallel import run_blocks, spans

Array = np.ndarray
Split = tuple[Array, Array]

WIDTHS = (0.25, 1.0, 4.0)


class DataSet(NamedTuple):
    """Views of all samples, labels, and (training, test) positions of each split."""

    views: dict[str, Array]
    y: Array
    splits: list[Split]
    widths: tuple[float, ...] = WIDTHS
    histograms: frozenset[str] = frozenset()


class Task(NamedTuple):
    """One split: kernel matrices on training samples (the first ones) and test samples, labels, names by view."""

    kernels: list[tuple[str, Precomputed]]
    groups: dict[str, list[str]]
    y: Array
    n_train: int

    @property
    def train(self) -> Array:
        """Sample numbers of the training part."""
        return np.arange(self.n_train)

    @property
    def test(self) -> Array:
        """Sample numbers of the test part."""
        return np.arange(self.n_train, len(self.y))


def task(data: DataSet, split: int) -> Task:
    """Kernels on the samples of one split; widths and scales are those of its training part."""
    train, test = data.splits[split]
    rows, n_train = np.concatenate([train, test]), len(train)
    kernels, groups = [], {}
    for view, X in data.views.items():
        is_histogram = view in data.histograms
        X = _shares(X[rows]) if is_histogram else _standard(X[rows], n_train)
        D = _pairs("chi2_distance" if is_histogram else "squared_distance", X)
        mean = D[:n_train, :n_train].sum(dtype=np.float64) / (n_train * (n_train - 1))
        own = [(f"{view} {width:g}", np.exp(D * np.float32(-width / mean))) for width in data.widths]
        own.append((f"{view} linear", (X @ X.T).astype(np.float32)))
        groups[view] = [name for name, _ in own]
        kernels += [(name, Precomputed(K)) for name, K in own]
    return Task(kernels, groups, data.y[rows], n_train)


# ---- tables: all columns, and blocks of them
# ------------------------------------------------------------------------------------------------------------------


def _table(name: str, ends: list[int], n_splits: int, train: float | int = 0.7, test: int | None = None) -> DataSet:
    """A view of all columns, and one of each block; constant columns dropped first."""
    data = load(name)
    X = np.asarray(data["X"], dtype=np.float64)
    X = X[:, X.std(axis=0) > 0]
    edges = [0, *ends, X.shape[1]]
    blocks = {f"{low + 1}-{high}": X[:, low:high] for low, high in zip(edges[:-1], edges[1:], strict=True)}
    return DataSet({"all": X, **blocks}, data["y"], _seeded(data["y"], n_splits, train, test))


def ionosphere() -> DataSet:
    """Radar pulses, good or bad."""
    return _table("ionosphere", [11, 22], 5)


def sonar() -> DataSet:
    """Mines and rocks, by the energy in sixty bands."""
    return _table("sonar", [10, 20, 30, 40, 50], 5)


def heart() -> DataSet:
    """Heart disease: the patient, what was measured at rest, what under exercise."""
    return _table("heart_statlog", [3, 7], 5)


def spambase() -> DataSet:
    """Mail: frequencies of words (two halves) and of signs, lengths of runs of capitals."""
    return _table("spambase", [24, 48, 54], 3, 1000, 1000)


# ---- views
# ------------------------------------------------------------------------------------------------------------------


def _several(name: str, n_splits: int, train: float | int, test: int | None = None) -> DataSet:
    data = load(name)
    y = data.pop("y")
    return DataSet(data, y, _seeded(y, n_splits, train, test))


def mfeat() -> DataSet:
    """Ten digits."""
    return _several("mfeat_digits", 3, 200, 1000)


def proteinfold() -> DataSet:
    """27 folds of proteins, random halves of the 694, two widths."""
    data = load("proteinfold")
    names = ("C", "S", "H", "V", "P", "Z", "L1", "L4", "L14", "L30", "SW1", "SW2")
    views = dict(zip(names, data["kpca27"], strict=True))
    return DataSet(views, data["y"], _seeded(data["y"], 3, 0.5), widths=(0.5, 2.0))


def tcga() -> DataSet:
    """Three types of breast cancer; the two views that all 220 samples have."""
    data = load("tcga_breast")
    views = {view: np.concatenate([data[f"{view}_train"], data[f"{view}_test"]]) for view in ("mrna", "mirna")}
    y = np.concatenate([data["y_train"], data["y_test"]])
    return DataSet(views, y, _seeded(y, 5, 150))


def leaves() -> DataSet:
    """A hundred species, four leaves of each for training."""
    return _several("leaves100", 3, 400, 1000)


def flowers17() -> DataSet:
    """17 flowers, 40 training and 20 test images of each, the splits of the data set."""
    data = load("flowers17_features")
    histograms = ("colour", "shape", "texture", "hsv", "siftint", "siftbdy")
    splits = list(zip(data["train"], data["test"], strict=True))
    views = {view: data[view] for view in (*histograms, "hog")}
    return DataSet(views, data["y"], splits, histograms=frozenset(histograms))


def msrc() -> DataSet:
    """Seven kinds of scenes."""
    return _several("msrc_v5", 5, 0.7)


SETS: dict[str, Callable[[], DataSet]] = {
    made.__name__: made
    for made in (ionosphere, sonar, heart, spambase, mfeat, proteinfold, tcga, leaves, flowers17, msrc)
}


# ---- pieces
# ------------------------------------------------------------------------------------------------------------------


def _seeded(y: Array, n_splits: int, train: float | int, test: int | None = None) -> list[Split]:
    """Stratified splits by seeds 0, 1, ..; `test` None is all the rest."""
    every = np.arange(len(y))
    return [
        tuple(train_test_split(every, train_size=train, test_size=test, stratify=y, random_state=seed))
        for seed in range(n_splits)
    ]


def _pairs(base: str, X: Array) -> Array:
    """(n, n) distances in float32, on all cores."""
    X = np.ascontiguousarray(X, dtype=np.float32)
    out = np.empty((len(X), len(X)), dtype=np.float32)

    def fill(rows: slice) -> None:
        out[rows] = base_block(base, X[rows], X, np.float32)

    run_blocks(fill, spans(len(X), 64), None)
    np.fill_diagonal(out, 0.0)
    return 0.5 * (out + out.T)


def _shares(counts: Array) -> Array:
    """Histograms of sum 1."""
    sums = counts.sum(axis=1, keepdims=True, dtype=np.float64)
    return np.asarray(counts / np.where(sums > 0, sums, 1.0))


def _standard(X: Array, n_train: int) -> Array:
    """Columns of mean 0 and variance 1 on the first rows."""
    X = np.asarray(X, dtype=np.float64)
    deviation = X[:n_train].std(axis=0)
    return (X - X[:n_train].mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
