"""The data of the M3K paper (section 6) as far as they are at hand: kernel matrices on all samples, labels, splits.

Widths, and the scales of columns, are taken over all samples of a set, those of the test among them, labels unseen;
centring and scaling of the kernels themselves is left to the bank, which looks at training samples alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from common import load

from polykern.kernels import base_block
from polykern.parallel import run_blocks, spans

Array = np.ndarray
Split = tuple[Array, Array]


class Task(NamedTuple):
    """Kernels (N, N) by name, labels, (training, test) samples of each split; how accuracy is averaged."""

    kernels: dict[str, Array]
    y: Array
    splits: dict[str, Split]
    by_class: bool = False
    holdouts: int = 1  # parts of the training samples on which parameters are tried


# ---- table 1: two classes, eight Gaussians
# ------------------------------------------------------------------------------------------------------------------

EXAMPLES, FOLDS = 1000, 5
EXPONENTS = range(-4, 4)  # gamma = 2^e / mean squared distance
LETTERS = b"ACGT"


def splice() -> Task:
    """Splice sites (IE and EI) against neither; letters one-hot, those that are ambiguous all zero."""
    data = load("splice_uci")
    rows = _some(len(data["y"]), EXAMPLES)
    X = (data["X"][rows, :, None] == np.frombuffer(LETTERS, dtype=np.uint8)).reshape(EXAMPLES, -1)
    return _gaussians(X, (data["y"][rows] == 2).astype(int))


def spambase() -> Task:
    """Mail, spam or not; columns of mean 0 and variance 1."""
    data = load("spambase")
    rows = _some(len(data["y"]), EXAMPLES)
    return _gaussians(_standard(data["X"][rows]), data["y"][rows])


def _gaussians(X: Array, y: Array) -> Task:
    D = _distance("squared_distance", X, np.float64)
    kernels = {f"2^{e}": np.exp(-(2.0**e) * D) for e in EXPONENTS}
    fold = _place_in_class(y, np.random.default_rng(0)) % FOLDS
    splits = {f"fold {k}": (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(FOLDS)}
    return Task(kernels, y, splits)


# ---- table 2: proteins and leaves
# ------------------------------------------------------------------------------------------------------------------

HALVES = 10
FOLD_VIEWS = ("C", "S", "H", "V", "P", "Z", "L1", "L4", "L14", "L30", "SW1", "SW2")


def proteinfold() -> Task:
    """27 folds, one Gaussian for each of twelve descriptions (27 components each); random halves, then the official."""
    data = load("proteinfold")
    views = dict(zip(FOLD_VIEWS, data["kpca27"], strict=True))
    kernels = {name: np.exp(-_distance("squared_distance", X)) for name, X in views.items()}
    official = {"official": (np.flatnonzero(data["train"]), np.flatnonzero(~data["train"].astype(bool)))}
    return Task(kernels, data["y"], _halves(len(data["y"])) | official, holdouts=2)


def leaves100() -> Task:
    """A hundred species of leaves, three views with three widths each, eight leaves of each for training."""
    data = load("leaves100")
    y = data.pop("y")
    kernels = {}
    for name, X in data.items():
        D = _distance("squared_distance", _standard(X))
        kernels |= {f"{name} {width:g}": np.exp(D * np.float32(-width)) for width in (0.25, 1.0, 4.0)}
    splits = {}
    for seed in range(HALVES):
        place = _place_in_class(y, np.random.default_rng(seed))
        splits[f"half {seed}"] = np.flatnonzero(place % 2 == 0), np.flatnonzero(place % 2 == 1)
    return Task(kernels, y, splits)


# ---- proteins as strings
# ------------------------------------------------------------------------------------------------------------------

PROTEINS = 2000
RESIDUES = b"ACDEFGHIKLMNPQRSTVWY"
PARTS = {"whole": slice(None), "first 25": slice(0, 25), "first 60": slice(0, 60), "last 25": slice(-25, None)}
# Words are letters at these places; three in a row are taken from the whole and the first 60 alone.
WORDS = {"letters": (0,), "pairs": (0, 1), "pairs, gap 1": (0, 2), "pairs, gap 2": (0, 3)}
TRIPLES, TRIPLE_PARTS = (0, 1, 2), ("whole", "first 60")


def multiloc_11() -> Task:
    """Eleven locations in the cell; 2,000 seeded proteins."""
    data = load("multiloc_proteins")
    return _proteins(data, data["y"])


def multiloc_4() -> Task:
    """Target peptides SP, mTP, cTP or none, signal anchors left out; 2,000 seeded proteins."""
    data = load("multiloc_proteins")
    return _proteins(data, np.where(data["target_peptide"] == b"SA", b"", data["target_peptide"]), b"SA")


def _proteins(data: dict[str, Array], labels: Array, without: bytes | None = None) -> Task:
    """Eighteen kernels: Gaussians on square roots of shares of letters and of pairs, cosines of those of triples."""
    candidates = np.flatnonzero(data["target_peptide"] != without)
    rows = candidates[_some(len(candidates), PROTEINS)]
    place = np.full(256, -1)
    place[np.frombuffer(RESIDUES, dtype=np.uint8)] = np.arange(len(RESIDUES))
    sequences = [place[data["seq_concat"][data["offsets"][row] : data["offsets"][row + 1]]] for row in rows]
    kernels = {}
    for part, span in PARTS.items():
        for words, places in WORDS.items():
            D = _distance("squared_distance", np.sqrt(_shares(_counts(sequences, span, places))))
            kernels[f"{part}, {words}"] = np.exp(-D)
    for part in TRIPLE_PARTS:
        X = np.sqrt(_shares(_counts(sequences, PARTS[part], TRIPLES)))
        kernels[f"{part}, triples"] = X @ X.T
    return Task(kernels, np.unique(labels[rows], return_inverse=True)[1], _halves(PROTEINS))


def _counts(sequences: list[Array], span: slice, places: tuple[int, ...]) -> Array:
    """(n, 20^k) how often each word occurs; words with another letter than the twenty are left out."""
    n_words = len(RESIDUES) ** len(places)
    counts = np.zeros((len(sequences), n_words), dtype=np.float32)
    for row, sequence in zip(counts, sequences, strict=True):
        part = sequence[span]
        length = max(0, len(part) - places[-1])
        letters = np.array([part[place : place + length] for place in places])
        known = letters[:, (letters >= 0).all(axis=0)]
        powers = len(RESIDUES) ** np.arange(len(places))
        row += np.bincount(powers @ known, minlength=n_words)
    return counts


# ---- figure 2: images
# ------------------------------------------------------------------------------------------------------------------

CALTECH_GRIDS = {
    "sift_gray": (4, 2, 1),
    "sift_hsv": (4, 2, 1),
    "phog180": (8, 4, 2, 1),
    "phog360": (8, 4, 2, 1),
    "lbp": (4, 2, 1),
}
REGIONS = {"1x1": slice(0, 1), "2x2": slice(1, 5), "4x4": slice(5, 21)}
POOL = 30  # ranks below it train, the others test
# Ranks of the training images of each class.
CALTECH_RANKS = {
    "10 a": (0, 10),
    "10 b": (10, 20),
    "10 c": (20, 30),
    "15 a": (0, 15),
    "15 b": (15, 30),
    "20": (0, 20),
    "25": (0, 25),
}


def caltech101() -> Task:
    """102 classes of images, 21 kernels: levels of five pyramids of histograms, filters, covariances of regions."""
    data = load("caltech101_features")
    rank = data["rank"].astype(int)
    kernels = {}
    for name, grids in CALTECH_GRIDS.items():
        for grid in grids:
            kernels[f"{name} {grid}x{grid}"] = np.exp(-_distance("chi2_distance", _level(data[name], grids[0], grid)))
    flat = {"gabor": data["gabor"], **{f"regcov {name}": data["regcov"][:, part] for name, part in REGIONS.items()}}
    for name, X in flat.items():
        kernels[name] = np.exp(-_distance("squared_distance", _standard(X.reshape(len(rank), -1))))
    test = np.flatnonzero(rank >= POOL)
    splits = {
        name: (np.flatnonzero((low <= rank) & (rank < high)), test) for name, (low, high) in CALTECH_RANKS.items()
    }
    return Task(kernels, data["y"], splits, by_class=True)


def _level(cells: Array, finest: int, grid: int) -> Array:
    """Histograms of a coarser grid, of sum 1."""
    side = finest // grid
    sums = cells.reshape(len(cells), grid, side, grid, side, -1).astype(np.float32).sum(axis=(2, 4))
    return _shares(sums.reshape(len(cells), -1))


def with_products(kernels: dict[str, Array], many: int, rows: Array) -> Iterator[tuple[str, Array]]:
    """The kernels on some samples, then products of seeded pairs of them, `many` in all."""
    own = {name: np.ascontiguousarray(K[np.ix_(rows, rows)]) for name, K in kernels.items()}
    yield from list(own.items())[:many]
    names = list(own)
    pairs = [(names[i], names[j]) for i in range(len(names)) for j in range(i)]
    for place in np.random.default_rng(0).permutation(len(pairs))[: max(0, many - len(own))]:
        one, other = pairs[place]
        yield f"{one} * {other}", own[one] * own[other]


SETS: dict[str, Callable[[], Task]] = {
    "splice": splice,
    "spambase": spambase,
    "proteinfold": proteinfold,
    "multiloc-11": multiloc_11,
    "multiloc-4": multiloc_4,
    "leaves100": leaves100,
    "caltech101": caltech101,
}


# ---- pieces
# ------------------------------------------------------------------------------------------------------------------


def _some(n: int, many: int) -> Array:
    return np.random.default_rng(0).permutation(n)[:many]


def _halves(n: int) -> dict[str, Split]:
    """Random halves, as the paper says; not stratified."""
    splits = {}
    for seed in range(HALVES):
        mixed = np.random.default_rng(seed).permutation(n)
        splits[f"half {seed}"] = np.sort(mixed[: n // 2]), np.sort(mixed[n // 2 :])
    return splits


def _place_in_class(y: Array, rng: np.random.Generator) -> Array:
    """(n,) number of each sample among those of its class, in a seeded order."""
    mixed, place = rng.permutation(len(y)), np.empty(len(y), dtype=int)
    for label in np.unique(y):
        own = mixed[y[mixed] == label]
        place[own] = np.arange(len(own))
    return place


def held_out(y: Array, share: float, seed: int) -> Split:
    """(kept, left out) positions: of every class this share is left out, rounded down."""
    place = _place_in_class(y, np.random.default_rng(seed))
    sizes = np.unique(y, return_counts=True)
    size = dict(zip(sizes[0].tolist(), sizes[1].tolist(), strict=True))
    out = place < np.array([int(share * size[label]) for label in y.tolist()])
    return np.flatnonzero(~out), np.flatnonzero(out)


def _distance(base: str, X: Array, dtype: type = np.float32) -> Array:
    """(n, n) distances in units of their mean, on all cores."""
    X = np.ascontiguousarray(X, dtype=dtype)
    out = np.empty((len(X), len(X)), dtype=dtype)

    def fill(rows: slice) -> None:
        out[rows] = base_block(base, X[rows], X, dtype)

    run_blocks(fill, spans(len(X), 64), None)
    np.fill_diagonal(out, 0.0)
    out += out.T.copy()
    out *= dtype(1.0 / out.mean(dtype=np.float64))
    return out


def _shares(counts: Array) -> Array:
    """Histograms of sum 1."""
    sums = counts.sum(axis=1, keepdims=True, dtype=np.float64)
    return counts / np.where(sums > 0, sums, 1.0).astype(np.float32)


def _standard(X: Array) -> Array:
    """Columns of mean 0 and variance 1; those that are constant dropped."""
    X = np.asarray(X, dtype=np.float64)
    deviation = X.std(axis=0)
    return (X[:, deviation > 0] - X.mean(axis=0)[deviation > 0]) / deviation[deviation > 0]
