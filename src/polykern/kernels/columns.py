"""Tables of numbers: reading all or some columns of arrays, pandas and polars frames as one float array."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

_LISTED = 20  # names listed in an error message


def is_frame(X: Any) -> bool:
    """Whether X is a data frame (pandas, polars, or alike): a table with named columns."""
    return hasattr(X, "columns") and hasattr(X, "shape") and not isinstance(X, np.ndarray)


def column_names(X: Any) -> list[Any] | None:
    """Names of the columns of a frame; None for arrays, which have none."""
    return list(X.columns) if is_frame(X) else None


def select_columns(X: Any, columns: Any = None, label: str = "X") -> np.ndarray:
    """The chosen columns of X as a float array (n, d): float32 stays float32, everything else becomes float64.

    `columns` is None (all), a position or a name, a list of either, a slice, a boolean mask, or a callable such as
    `sklearn.compose.make_column_selector`. No copy is made of a float array when all columns or a slice of them are
    read. `label` says in error messages who reads ("kernel 3 ('rna')").
    """
    table = X if is_frame(X) else _table(X, label)
    positions = None if columns is None else column_positions(table, columns, label)
    chosen = _from_frame(table, positions, label) if is_frame(table) else _from_array(table, positions, label)
    _check_finite(chosen, table, positions, label)
    return chosen


def take_columns(X: Any, columns: Any, label: str = "X") -> Any:
    """The chosen columns of X in X's own type: a frame stays a frame, so that names stay known."""
    if not is_frame(X):
        return select_columns(X, columns, label)
    positions = column_positions(X, columns, label)
    return X.iloc[:, positions] if hasattr(X, "iloc") else X[:, positions.tolist()]


def column_positions(X: Any, columns: Any, label: str = "X") -> np.ndarray:
    """Positions (>= 0) of the chosen columns of X."""
    columns = columns(X) if callable(columns) else columns
    names, total = column_names(X), X.shape[1]
    if isinstance(columns, slice):
        wanted = _slice_positions(columns, names, total, label)
    else:
        wanted = _list_positions(_as_list(columns, label), names, total, label)
    if len(wanted) == 0:
        raise ValueError(f"{label}: columns={columns!r} selects no column; X has {_existing(names, total)}.")
    return wanted


def _as_list(columns: Any, label: str) -> list[Any]:
    if isinstance(columns, (str, Integral)) and not isinstance(columns, bool):
        return [columns]
    if isinstance(columns, (Sequence, np.ndarray)) or hasattr(columns, "__iter__"):
        return list(columns)
    raise TypeError(
        f"{label}: columns is {columns!r}, expected positions, names, a slice, a boolean mask or a callable column "
        "selector."
    )


def _list_positions(items: list[Any], names: list[Any] | None, total: int, label: str) -> np.ndarray:
    if all(isinstance(item, (bool, np.bool_)) for item in items):
        return _mask_positions(items, total, label)
    if all(isinstance(item, str) for item in items):
        return np.array([_name_position(item, names, total, label) for item in items], dtype=np.intp)
    if all(isinstance(item, Integral) and not isinstance(item, (bool, np.bool_)) for item in items):
        return np.array([_checked_position(int(item), names, total, label) for item in items], dtype=np.intp)
    raise TypeError(f"{label}: columns={items!r} mixes kinds, expected all positions, all names, or a boolean mask.")


def _mask_positions(mask: list[Any], total: int, label: str) -> np.ndarray:
    if len(mask) != total and mask:
        raise ValueError(f"{label}: the boolean mask of columns has {len(mask)} entries, but X has {total} columns.")
    return np.flatnonzero(np.array(mask, dtype=bool))


def _checked_position(position: int, names: list[Any] | None, total: int, label: str) -> int:
    if not -total <= position < total:
        raise ValueError(f"{label}: column {position} does not exist; X has {_existing(names, total)}.")
    return position % total


def _name_position(name: str, names: list[Any] | None, total: int, label: str) -> int:
    if names is None:
        raise ValueError(
            f"{label}: column {name!r} is asked for by name, but X is an array without names: "
            f"use positions 0 to {total - 1}, or pass a data frame."
        )
    if name not in names:
        by_lower = {str(other).lower(): other for other in names}  # a wrong case is the nearest miss
        close = difflib.get_close_matches(name.lower(), list(by_lower), n=1)
        hint = f"; did you mean {by_lower[close[0]]!r}?" if close else "."
        raise ValueError(f"{label}: column {name!r} does not exist; X has {_existing(names, total)}{hint}")
    return names.index(name)


def _slice_positions(columns: slice, names: list[Any] | None, total: int, label: str) -> np.ndarray:
    """Slices of positions are half-open as in Python, slices of names include their end as in pandas."""
    start, stop = columns.start, columns.stop
    if isinstance(start, str):
        start = _name_position(start, names, total, label)
    if isinstance(stop, str):
        stop = _name_position(stop, names, total, label) + 1
    return np.arange(total, dtype=np.intp)[slice(start, stop, columns.step)]


def _existing(names: list[Any] | None, total: int) -> str:
    if names is None:
        return f"{total} columns, positions 0 to {total - 1}"
    listed = ", ".join(repr(name) for name in names[:_LISTED])
    return f"the columns {listed}" + (f" and {total - _LISTED} more" if total > _LISTED else "")


def _table(X: Any, label: str) -> np.ndarray:
    if hasattr(X, "toarray"):
        raise TypeError(f"{label}: X is a sparse matrix, expected a dense table: pass X.toarray().")
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(
            f"{label}: X has shape {array.shape}, expected a table (n_samples, n_features); "
            "use X.reshape(-1, 1) for a single feature."
        )
    return array


def _from_array(table: np.ndarray, positions: np.ndarray | None, label: str) -> np.ndarray:
    if positions is not None:
        table = table[:, _as_slice(positions)]
    if table.dtype.kind in "biuf":
        return _float(table)
    columns = range(table.shape[1]) if positions is None else positions
    parts = [_column(table[:, k], f"column {columns[k]}", label) for k in range(table.shape[1])]
    return np.column_stack(parts) if parts else np.empty((len(table), 0))


def _from_frame(frame: Any, positions: np.ndarray | None, label: str) -> np.ndarray:
    names = list(frame.columns)
    wanted = range(len(names)) if positions is None else positions.tolist()
    get = (lambda k: frame.iloc[:, k]) if hasattr(frame, "iloc") else (lambda k: frame[names[k]])
    parts = [_column(np.asarray(get(k)), f"column {names[k]!r}", label) for k in wanted]
    return np.column_stack(parts) if parts else np.empty((len(frame), 0))


def _as_slice(positions: np.ndarray) -> Any:
    """The positions as a slice where they are consecutive, so that reading them copies nothing."""
    first, last = int(positions[0]), int(positions[-1])
    consecutive = last - first + 1 == len(positions) and bool(np.all(np.diff(positions) == 1))
    return slice(first, last + 1) if consecutive else positions


def _float(values: np.ndarray) -> np.ndarray:
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _column(values: np.ndarray, name: str, label: str) -> np.ndarray:
    """One column as floats; text that happens to look like numbers is refused, not parsed."""
    if values.dtype.kind in "biuf":
        return _float(values)
    if values.dtype.kind != "O" or any(isinstance(value, (str, bytes)) for value in values):
        raise ValueError(
            f"{label}: {name} holds {_kind(values)}, kernels on vectors need numbers: encode it, or leave it out with "
            "`columns`."
        )
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{label}: {name} holds missing values or objects that are not numbers ({error}).") from error


def _kind(values: np.ndarray) -> str:
    kinds = {
        "U": "text",
        "S": "text",
        "T": "text",
        "O": "text",
        "M": "dates",
        "m": "time spans",
        "c": "complex numbers",
    }
    return kinds.get(values.dtype.kind, str(values.dtype))


def _check_finite(chosen: np.ndarray, table: Any, positions: np.ndarray | None, label: str) -> None:
    if np.isfinite(chosen).all():
        return
    row, column = np.argwhere(~np.isfinite(chosen))[0]
    position = column if positions is None else positions[column]
    names = column_names(table)
    name = f"column {position}" if names is None else f"column {names[position]!r}"
    raise ValueError(
        f"{label}: {name} is {chosen[row, column]} in row {row}, kernels need finite numbers: impute or drop it first."
    )
