"""Tables as far_frames: matrices and data frames become columns of numbers, categories and dates."""
from __future__ import annotations

import datetime
import decimal
import numbers
import re
import warnings
from typing import Any, Collection, Iterable, Sequence

import numpy as np

from . import _arrow, _lib, errors
from ._lib import ffi, lib

_PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MISSING_AS_TEXT = ("nan", "None", "<NA>", "NaT")  # what astype(str) makes of missing values
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


# As through Arrow, which has types of its own for these. They print, but not as categories.
_NO_VALUES = (
    bytes, bytearray, complex, np.complexfloating, datetime.timedelta, np.timedelta64, datetime.time,
    list, tuple, dict, set, frozenset, np.ndarray,
)  # fmt: skip


def is_frame(x: Any) -> bool:
    """Whether x has named columns: frames of pandas, and all that speaks Arrow's C interface but
    series of pandas."""
    return is_pandas(x) or (_arrow.speaks(x) and not hasattr(x, "ndim"))


def is_pandas(x: Any) -> bool:
    """Whether x is a data frame of pandas."""
    return hasattr(x, "columns") and hasattr(x, "iloc")


def _is_loose(cell: Any) -> bool:
    if isinstance(cell, str):
        return "_" in cell or not cell.isascii()
    return isinstance(cell, (bool, np.bool_))


def has_words(x: Any) -> bool:
    """Whether x is a matrix of objects, or a list of rows, that holds what is no number as a csv
    has numbers: NumPy makes them of booleans and of "1_000", too."""
    if not isinstance(x, list) and getattr(getattr(x, "dtype", None), "kind", "") not in ("O", "U", "T"):
        return False
    try:
        np.asarray(x, np.float64)
        cells = np.asarray(x, object)
        return cells.ndim == 2 and any(map(_is_loose, cells.ravel()))
    except (ValueError, TypeError, OverflowError):
        return np.asarray(x, object).ndim == 2


def is_missing(value: Any) -> bool:
    """Whether a table has no value there."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, numbers.Number) and value != value


def _is_number(value: Any) -> bool:
    is_bool = isinstance(value, (bool, np.bool_))
    return isinstance(value, (numbers.Real, decimal.Decimal)) and not is_bool


def _is_whole(value: Any) -> bool:
    """Whether it is a whole number that is written with a point: categories with gaps may be so."""
    return isinstance(value, float) and value.is_integer()


def _word(value: Any) -> str:
    """As a csv has it, where blanks around a field do not count."""
    return str(value).strip(" \t")


def _codes(texts: Sequence[str | None]) -> tuple[np.ndarray, list[str]]:
    """Indices into the distinct texts, -1 for None."""
    seen: dict[str, int] = {}
    found = [-1 if text is None else seen.setdefault(text, len(seen)) for text in texts]
    return np.array(found, np.int32), list(seen)


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date)


def _moment(value: Any) -> np.datetime64:
    """A date, or a time of day with or without a zone, in UTC."""
    if getattr(value, "tzinfo", None) is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return np.datetime64(value, "us")


def _days(dates: np.ndarray) -> np.ndarray:
    """datetime64 of any unit as days, NaN for NaT."""
    missing = np.isnat(dates)
    unit = np.datetime_data(dates.dtype)[0]
    if unit not in _PER_SECOND:
        dates, unit = dates.astype("datetime64[s]"), "s"
    ticks = np.where(missing, 0, dates.astype(np.int64))
    return np.where(missing, np.nan, _arrow.days(ticks, _PER_SECOND[unit]))


def _are_plain_numbers(values: Iterable[Any]) -> bool:
    """Whether all are texts, of plain numbers: whoever keeps 02139 so means the text."""
    return all(
        isinstance(v, str) and (_PLAIN_NUMBER.fullmatch(_word(v)) or v in _MISSING_AS_TEXT)
        for v in values
    )


def _is_dictionary(dtype: Any) -> bool:
    """Whether it is pandas' type of a dictionary of Arrow."""
    return str(getattr(dtype, "pyarrow_dtype", "")).startswith("dictionary")


class Column:
    """A column: numbers (float64, NaN is missing) and their unit, or codes (-1: missing) of words.
    Those that are written are read as a csv is: dates and numbers with marks become numbers."""

    def __init__(self, name: Any) -> None:
        self.name, self.unit = str(name), ""
        self.numbers: np.ndarray | None = None
        self.codes: np.ndarray | None = None
        self.levels: list[str] = []
        self.written = self.plain = False  # plain: written, and plain numbers alone

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
        if hasattr(dtype, "categories"):
            column._take_categories(values)
            return column
        labelled = _is_dictionary(dtype)
        values = np.asarray(values)
        if values.ndim != 1:
            raise errors.ArgError(f"column {name}: {values.ndim} dimensions, not one value a row")
        if values.dtype.kind == "M":
            column.numbers, column.unit = _days(values), "date"
        elif values.dtype.kind in "iuf":
            column.numbers = values.astype(np.float64)
        elif values.dtype.kind == "m":  # whose objects may be whole numbers
            column._refuse_kind(str(values.dtype))
        else:
            is_text = values.dtype.kind != "b" and not labelled
            column._take_objects(values.astype(object), is_text)
        return column

    def _take_categories(self, values: Any) -> None:
        """Of pandas: as they print, which values with gaps between them need not."""
        categories = values.dtype.categories
        if getattr(categories.dtype, "kind", "") == "M":
            self._refuse_kind("category of dates")
        levels = [_word(int(c) if _is_whole(c) else c) for c in categories]
        codes = np.asarray(values.cat.codes if hasattr(values, "cat") else values.codes)
        self.codes, self.levels = _codes([None if k < 0 else levels[k] for k in codes])

    def _take_objects(self, values: np.ndarray, is_text: bool) -> None:
        missing = np.array([is_missing(v) for v in values], bool)
        there = values[~missing]
        self._refuse(there)
        if len(there) and all(map(_is_date, there)):
            dates = [np.datetime64("NaT") if m else _moment(v) for v, m in zip(values, missing)]
            self.numbers, self.unit = _days(np.array(dates, "M8[us]")), "date"
        elif all(map(_is_number, there)):
            self.numbers = np.where(missing, np.nan, 0.0)
            self.numbers[~missing] = self._as_floats(there)
        else:
            self._take_texts([None if m else _word(v) for v, m in zip(values, missing)])
            self.written, self.plain = is_text, _are_plain_numbers(there)

    def _take_texts(self, texts: Sequence[str | None]) -> None:
        self.codes, self.levels = _codes(texts)

    def _refuse(self, values: np.ndarray) -> None:
        for value in values:
            kind = type(value).__name__
            if isinstance(value, _NO_VALUES) or kind == "Period":
                self._refuse_kind(kind)

    def _refuse_kind(self, kind: str) -> None:
        raise errors.ArgError(
            f"column {self.name} holds values of type {kind}, which become neither numbers, "
            "categories nor dates; convert them, or leave it out"
        )

    def _as_floats(self, values: np.ndarray) -> np.ndarray:
        try:
            return values.astype(np.float64)
        except OverflowError:
            why = "a number too large for float64"
        except (ValueError, ArithmeticError):
            why = "a number that float64 does not have"
        raise errors.DataError(f"column {self.name} holds {why}; convert it, or leave it out")

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
            column._take_texts([None if t is None else _word(t) for t in texts])
            column.written = pieces[0].written
            column.plain = _are_plain_numbers(t for t in texts if t is not None)
        return column


def columns(x: Any, names: Sequence[str] | None = None) -> list[Column]:
    """The columns of a data frame, or of a matrix with these names (None: x1, x2, ...)."""
    if is_pandas(x):
        return [Column.of_values(name, x.iloc[:, j]) for j, name in enumerate(x.columns)]
    if is_frame(x):
        return [Column.of_pieces(name, pieces) for name, pieces in _arrow.read(x)]
    x = _lib.as_numpy(x)
    if x.ndim != 2:
        raise errors.ShapeError(f"the table has {x.ndim} dimensions, not rows and columns")
    names = names or [f"x{j + 1}" for j in range(x.shape[1])]
    return [_matrix_column(name, x[:, j]) for j, name in enumerate(names)]


def take_by_place(table: Sequence[Column], who: str) -> None:
    """Columns of a frame by their places, for a model of a matrix; scikit-learn's warning."""
    warnings.warn(
        f"X has feature names, but {who} was fitted without feature names",
        UserWarning,
        stacklevel=_lib.outside(),
    )
    for j, column in enumerate(table):
        column.name = f"x{j + 1}"


def _matrix_column(name: str, values: np.ndarray) -> Column:
    """In a matrix of texts numbers are texts because their neighbours are."""
    column = Column.of_values(name, values.astype(np.float64) if values.dtype == bool else values)
    column.plain &= values.dtype == object
    return column


def _kind(c: Column, categorical: Collection[str] | None) -> int:
    """A column that is written is read as that of a csv, unless it is to be, or was, categories."""
    words = c.plain if categorical is None else c.name in categorical
    return lib.FAR_COLUMN_TEXT if c.written and not words else lib.FAR_COLUMN_WORD


def frame(table: Sequence[Column], categorical: Collection[str] | None = None) -> Any:
    """A far_frame of columns. categorical: the names of those that a predictor has as categories;
    None: nothing is known of them."""
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
        info.kind = _kind(c, categorical)
        info.codes = keep(ffi.from_buffer("int32_t[]", np.ascontiguousarray(c.codes)))
        try:
            levels = [keep(_lib.c_text(level)) for level in c.levels]
        except errors.ArgError as error:
            raise errors.DataError(f"column {c.name}: {error}") from None
        info.levels, info.level_count = keep(ffi.new("char *[]", levels)), len(levels)
    return _lib.make(
        lib.far_frame_from_columns, infos, len(table), rows.pop() if rows else 0,
        destroy=lib.far_frame_destroy,
    )  # fmt: skip


def listed(names: Sequence[str]) -> str:
    """A list of columns as the library reads it: names that hold commas stand in backquotes."""
    return ",".join("`" + name.replace("`", "``") + "`" for name in names)
