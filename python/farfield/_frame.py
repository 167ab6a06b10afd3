"""Tables as far_frames: matrices and data frames become columns of numbers, categories and dates."""
from __future__ import annotations

import decimal
import numbers
from typing import Any, Sequence

import numpy as np

from . import _arrow, _lib, errors
from ._lib import ffi, lib

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_frame(x: Any) -> bool:
    """Whether x has named columns: frames of pandas, and all that speaks Arrow's C interface."""
    return _is_pandas(x) or (_arrow.speaks(x) and not isinstance(x, np.ndarray))


def _is_pandas(x: Any) -> bool:
    return hasattr(x, "columns") and hasattr(x, "iloc")


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, numbers.Number) and value != value


def _word(value: Any) -> str:
    """As a csv has it, where blanks around a field do not count."""
    return str(value).strip(" \t")


def _codes(texts: Sequence[str | None]) -> tuple[np.ndarray, list[str]]:
    """Indices into the distinct texts, -1 for None."""
    seen: dict[str, int] = {}
    found = [-1 if text is None else seen.setdefault(text, len(seen)) for text in texts]
    return np.array(found, np.int32), list(seen)


def _days(dates: np.ndarray) -> np.ndarray:
    """datetime64 of any unit as days, NaN for NaT."""
    missing = np.isnat(dates)
    unit = np.datetime_data(dates.dtype)[0]
    if unit not in _PER_SECOND:
        dates, unit = dates.astype("datetime64[s]"), "s"
    ticks = np.where(missing, 0, dates.astype(np.int64))
    return np.where(missing, np.nan, _arrow.days(ticks, _PER_SECOND[unit]))


class Column:
    """A column: numbers (float64, NaN is missing) and their unit, or codes (-1: missing) of words."""

    def __init__(self, name: Any) -> None:
        self.name, self.unit = str(name), ""
        self.numbers: np.ndarray | None = None
        self.codes: np.ndarray | None = None
        self.levels: list[str] = []

    def __len__(self) -> int:
        values = self.codes if self.numbers is None else self.numbers
        return 0 if values is None else len(values)

    @classmethod
    def of_values(cls, name: Any, values: Any) -> Column:
        """A column of pandas, or of NumPy."""
        column = cls(name)
        dtype = getattr(values, "dtype", None)
        if getattr(dtype, "tz", None) is not None:
            values = values.dt.tz_convert(None)
        words = hasattr(dtype, "categories")
        values = np.asarray(values)
        if values.ndim != 1:
            raise errors.ArgError(f"column {name}: {values.ndim} dimensions, not one value a row")
        if values.dtype.kind == "M":
            column.numbers, column.unit = _days(values), "date"
        elif values.dtype.kind in "iuf" and not words:
            column.numbers = values.astype(np.float64)
        else:
            column._take_objects(values.astype(object), words)
        return column

    def _take_objects(self, values: np.ndarray, words: bool) -> None:
        missing = np.array([_is_missing(v) for v in values], bool)
        plain = all(isinstance(v, (numbers.Real, decimal.Decimal)) and not isinstance(v, (bool, np.bool_))
                    for v in values[~missing])  # fmt: skip
        if plain and not words:
            self.numbers = np.where(missing, np.nan, 0.0)
            self.numbers[~missing] = values[~missing].astype(np.float64)
        else:
            texts = [None if m else _word(v) for v, m in zip(values, missing)]
            self.codes, self.levels = _codes(texts)

    @classmethod
    def of_labels(cls, name: Any, labels: Sequence[str]) -> Column:
        """A column of class names, as they are."""
        column = cls(name)
        column.codes, column.levels = _codes(labels)
        return column

    @classmethod
    def of_pieces(cls, name: Any, pieces: list[_arrow.Piece]) -> Column:
        """A column that came through Arrow."""
        column = cls(name)
        if pieces[0].numbers is not None:
            column.numbers = np.concatenate([piece.numbers for piece in pieces])
            column.unit = pieces[0].unit
        else:
            texts = [text for piece in pieces for text in piece.texts or ()]
            column.codes, column.levels = _codes([None if t is None else _word(t) for t in texts])
        return column


def columns(x: Any, names: Sequence[str] | None = None) -> list[Column]:
    """The columns of a data frame, or of a matrix with these names (None: x1, x2, ...)."""
    if _is_pandas(x):
        return [Column.of_values(name, x.iloc[:, j]) for j, name in enumerate(x.columns)]
    if is_frame(x):
        return [Column.of_pieces(name, pieces) for name, pieces in _arrow.read(x)]
    x = _lib.as_numpy(x)
    if x.ndim != 2:
        raise errors.ShapeError(f"the table has {x.ndim} dimensions, not rows and columns")
    names = names or [f"x{j + 1}" for j in range(x.shape[1])]
    return [_matrix_column(name, x[:, j]) for j, name in enumerate(names)]


def _matrix_column(name: str, values: np.ndarray) -> Column:
    return Column.of_values(name, values.astype(np.float64) if values.dtype == bool else values)


def frame(table: Sequence[Column]) -> Any:
    """A far_frame of columns."""
    infos, kept = ffi.new("far_column_info[]", max(len(table), 1)), []

    def keep(value: Any) -> Any:
        kept.append(value)
        return value

    rows = {len(c) for c in table}
    if len(rows) > 1:
        raise errors.ShapeError(f"columns have different numbers of rows: {sorted(rows)}")
    for info, c in zip(infos, table):
        info.name, info.unit = (keep(_lib.c_text(words)) for words in (c.name, c.unit))
        if c.numbers is not None:
            info.numbers = keep(ffi.from_buffer("double[]", np.ascontiguousarray(c.numbers)))
            continue
        info.kind = lib.FAR_COLUMN_WORD
        info.codes = keep(ffi.from_buffer("int32_t[]", np.ascontiguousarray(c.codes)))
        levels = [keep(_lib.c_text(level)) for level in c.levels]
        info.levels, info.level_count = keep(ffi.new("char *[]", levels)), len(levels)
    return _lib.make(
        lib.far_frame_from_columns, infos, len(table), rows.pop() if rows else 0,
        destroy=lib.far_frame_destroy,
    )  # fmt: skip


def listed(names: Sequence[str]) -> str:
    """A list of columns as the library reads it: names that hold commas stand in backquotes."""
    return ",".join("`" + name.replace("`", "``") + "`" for name in names)
