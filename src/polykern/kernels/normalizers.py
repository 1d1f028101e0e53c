"""Normalizers: fitted on the training matrix, applied to it and to new data.

    normalized K(x, z) = scale * factor_x * factor_z * (K(x, z) - shift_x - shift_z + offset)

All that a normalizer learns is two numbers and two vectors, so the matrices themselves are never rewritten.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

_RESOLUTION = 1e-10  # what is this much smaller than the terms it is the difference of is rounding
_TILE = 1 << 16  # entries handled at once, so that the passes of the formula meet in the cache


@dataclass(frozen=True)
class Normalization:
    """A fitted normalizer: scale * factor_x * factor_z * (K(x, z) - shift_x - shift_z + offset)."""

    scale: float = 1.0
    offset: float = 0.0  # mean of the training matrix
    shift: np.ndarray | None = None  # (n,) mean of each row of the training matrix; None: all 0
    factor: np.ndarray | None = None  # (n,) 1 / norm of each (centred) sample; None: all 1
    is_null: bool = False  # nothing is left of the kernel: scale is 0 and it contributes nothing
    resolution: float = _RESOLUTION

    def apply(self, block: np.ndarray, rows: Any, cols: Any) -> np.ndarray:
        """The block of the training matrix at (rows, cols), normalized in place."""
        at = [None if terms is None else (terms[rows], terms[cols]) for terms in (self.shift, self.factor)]
        return self._apply(block, *at)

    def new_terms(
        self, diag: np.ndarray | None, means: np.ndarray | None = None
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """(shift, factor) of new samples x from K(x, x) and from the mean of K(x, .) over ALL training samples.

        `diag` is needed where factors are used, `means` where shifts are; what is not used may be None.
        """
        shift = None if self.shift is None else _given(means, "means", "the mean against all training samples")
        if self.factor is None:
            return shift, None
        terms = _given(diag, "diag", "the kernel of each new sample with itself")
        return shift, _inverse_norms(*_centred_diagonal(terms, shift, self.offset), self.resolution)

    def apply_new(
        self, block: np.ndarray, shift: np.ndarray | None, factor: np.ndarray | None, cols: Any = slice(None)
    ) -> np.ndarray:
        """The block (new samples, training samples at cols), normalized in place with the terms of the new samples."""
        shifts = None if self.shift is None else (_given(shift, "shift", "from new_terms"), self.shift[cols])
        factors = None if self.factor is None else (_given(factor, "factor", "from new_terms"), self.factor[cols])
        return self._apply(block, shifts, factors)

    def diag(self, diag: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """The diagonal of the normalized training matrix, at `rows`, from that of the given one (at `rows`)."""
        if self.is_null:
            return np.zeros(len(diag))
        shift = None if self.shift is None else self.shift[rows]
        centred, _ = _centred_diagonal(diag, shift, self.offset)
        return self.scale * (centred if self.factor is None else centred * self.factor[rows] ** 2)

    def take(self, idx: Any) -> Normalization:
        """The terms of some training samples; means stay those of the whole training set."""
        if self.shift is None and self.factor is None:
            return self
        shift = None if self.shift is None else self.shift[idx]
        factor = None if self.factor is None else self.factor[idx]
        return replace(self, shift=shift, factor=factor)

    def _apply(self, block: np.ndarray, shifts: Any, factors: Any) -> np.ndarray:
        if self.is_null:
            block[...] = 0.0
            return block
        height = max(1, _TILE // max(1, block.shape[1]))
        for start in range(0, block.shape[0], height):
            tile, rows = block[start : start + height], slice(start, start + height)
            if shifts is not None:
                tile -= np.add.outer(shifts[0][rows] - self.offset, shifts[1]).astype(block.dtype, copy=False)
            if factors is not None:
                tile *= np.multiply.outer(self.scale * factors[0][rows], factors[1]).astype(block.dtype, copy=False)
            elif self.scale != 1.0:
                tile *= float(self.scale)
        return block


class Normalizer:
    """A rule that fits a Normalization to the diagonal and, where it centres, to the row means of a matrix."""

    def __init__(
        self, name: str | None, *, centres: bool = False, unit_diagonal: bool = False, total: str | None = None
    ):
        self.name = name
        self.needs_row_means = centres  # whether fit wants the mean of each row, which costs one pass over the matrix
        self._unit_diagonal = unit_diagonal
        self._total = total

    def __repr__(self) -> str:
        return f"normalizer({self.name!r})"

    def fit(
        self,
        diag: np.ndarray,
        row_means: np.ndarray | None = None,
        *,
        resolution: float = _RESOLUTION,
        label: str = "the kernel",
    ) -> Normalization:
        """The Normalization for a training matrix with this diagonal (n,) and these means of its rows (n,).

        A kernel whose (centred) diagonal is zero up to `resolution`, relative to the terms that cancel in it, is
        flagged `is_null`; single samples of that kind get the factor 0. Use about 1e-5 where the entries are float32.
        """
        given = np.asarray(diag, dtype=np.float64)
        if given.ndim != 1:
            raise ValueError(f"{label}: its diagonal has shape {given.shape}, expected (n,).")
        means = None if row_means is None else np.asarray(row_means, dtype=np.float64)[np.newaxis]
        return self.fit_all(given[np.newaxis], means, resolution=resolution, labels=[label])[0]

    def fit_all(
        self,
        diagonals: np.ndarray,
        row_means: np.ndarray | None = None,
        *,
        resolution: float = _RESOLUTION,
        labels: Sequence[str],
    ) -> list[Normalization]:
        """`fit` for many kernels: diagonals and row means (F, n), and a label for each."""
        shifts = None
        if self.needs_row_means:
            shifts = _given(row_means, "row_means", f"normalize={self.name!r} centres")
        _check_diagonals(diagonals, labels)
        offsets = np.zeros((len(diagonals), 1)) if shifts is None else shifts.mean(axis=1, keepdims=True)
        centred, sizes = _centred_diagonal(diagonals, shifts, offsets)
        live = np.any(centred > resolution * sizes.max(axis=1, initial=0.0)[:, np.newaxis], axis=1)
        factors = _inverse_norms(centred, sizes, resolution) if self._unit_diagonal else None
        none = [None] * len(diagonals)
        terms = zip(
            live.tolist(),
            self._scales(diagonals, live).tolist(),
            offsets[:, 0].tolist(),
            none if shifts is None else shifts,
            none if factors is None else factors,
            strict=True,
        )
        return [
            Normalization(scale, offset, shift, factor if there else None, not there, resolution)
            for there, scale, offset, shift, factor in terms
        ]

    def _scales(self, diagonals: np.ndarray, live: np.ndarray) -> np.ndarray:
        """(F,) 1 over what the rule makes 1, and 0 for kernels of which nothing is left."""
        if self._total is None:
            return live.astype(np.float64)
        totals = diagonals.mean(axis=1) if self._total == "mean" else diagonals.sum(axis=1)
        return np.divide(1.0, totals, out=np.zeros(len(totals)), where=live)


NORMALIZERS: dict[str | None, Normalizer] = {
    "mean-diagonal": Normalizer("mean-diagonal", total="mean"),
    "trace": Normalizer("trace", total="sum"),
    "diagonal": Normalizer("diagonal", unit_diagonal=True),
    "center": Normalizer("center", centres=True),
    "center-diagonal": Normalizer("center-diagonal", centres=True, unit_diagonal=True),
    None: Normalizer(None),
}


def normalizer(name: str | None) -> Normalizer:
    """The normalizer of this name.

    "mean-diagonal": mean of the diagonal 1; "trace": trace 1; "diagonal": K(x, x) = 1 for every x; "center": mean of
    the samples in feature space 0; "center-diagonal": centred, then K(x, x) = 1; None: the kernel as it is.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f"normalize is {name!r}, expected {_names()}.")
    if name not in NORMALIZERS:
        close = difflib.get_close_matches(name or "", [known for known in NORMALIZERS if known], n=1)
        raise ValueError(
            f"normalize is {name!r}, expected {_names()}." + (f" Did you mean {close[0]!r}?" if close else "")
        )
    return NORMALIZERS[name]


def _names() -> str:
    return ", ".join(f'"{name}"' for name in NORMALIZERS if name) + " or None"


def _given(values: np.ndarray | None, name: str, why: str) -> np.ndarray:
    if values is None:
        raise ValueError(f"{name} is None, expected numbers: {why}.")
    return np.asarray(values, dtype=np.float64)


def _check_diagonals(diagonals: np.ndarray, labels: Sequence[str]) -> None:
    """Entries have to be finite and, up to rounding, not negative."""
    sizes = np.abs(diagonals).max(axis=1, initial=0.0)[:, np.newaxis]
    wrong = np.argwhere(~((diagonals >= -1e-5 * sizes) & np.isfinite(diagonals)))
    if wrong.size:
        k, i = wrong[0]
        value = diagonals[k, i]
        reason = "it is not positive semidefinite" if value < 0 else "it is too large for floating point: scale X"
        raise ValueError(
            f"{labels[k]} has the value {value:.6g} for sample {i} with itself, expected a finite number >= 0: "
            f"{reason}."
        )


def _centred_diagonal(diag: np.ndarray, shift: np.ndarray | None, offset: Any) -> tuple[np.ndarray, np.ndarray]:
    """K(x, x) - 2 shift_x + offset, and the size of the terms that cancel in it."""
    if shift is None:
        return np.asarray(diag, dtype=np.float64), np.abs(diag)
    return diag - 2.0 * shift + offset, np.abs(diag) + 2.0 * np.abs(shift) + np.abs(offset)


def _inverse_norms(centred: np.ndarray, size: np.ndarray, resolution: float) -> np.ndarray:
    """1 / sqrt(centred), and 0 for samples of which nothing but rounding is left."""
    there = centred > resolution * size
    return np.where(there, 1.0 / np.sqrt(np.where(there, centred, 1.0)), 0.0)
