"""Tables as far_frames: matrices and data frames become columns of numbers, words and dates."""
import numbers

import numpy as np

from . import _lib, errors
from ._lib import ffi, lib

DAY = np.timedelta64(1, "D") / np.timedelta64(1, "ns")


def is_frame(x):
    """Whether x has named columns, as frames of pandas and polars have."""
    return hasattr(x, "columns") and hasattr(x, "__getitem__") and not isinstance(x, np.ndarray)


def _is_missing(value):
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _words(values, missing):
    levels, codes = np.unique([str(v) for v in values[~missing]], return_inverse=True)
    found = np.full(len(values), -1, np.int32)
    found[~missing] = codes
    return found, [str(level) for level in levels]


class Column:
    """A column: numbers (float64, NaN is missing) and their unit, or codes (-1: missing) of words."""

    def __init__(self, name, values, words=False):
        self.name, self.unit, self.numbers, self.codes, self.levels = str(name), "", None, None, []
        dtype = getattr(values, "dtype", None)
        zone = getattr(dtype, "tz", None)
        if zone is not None:
            values = values.dt.tz_convert(None)
        words = words or hasattr(dtype, "categories")
        values = np.asarray(values)
        if values.dtype.kind == "M":
            days = values.astype("datetime64[ns]").astype(np.float64) / DAY
            self.numbers, self.unit = np.where(np.isnat(values), np.nan, days), "date"
        elif values.dtype.kind in "iuf" and not words:
            self.numbers = values.astype(np.float64)
        else:
            self._take_objects(values.astype(object), words)

    def _take_objects(self, values, words):
        missing = np.array([_is_missing(v) for v in values], bool)
        plain = all(isinstance(v, numbers.Real) and not isinstance(v, (bool, np.bool_))
                    for v in values[~missing])  # fmt: skip
        if plain and not words:
            self.numbers = np.where(missing, np.nan, 0.0)
            self.numbers[~missing] = values[~missing].astype(np.float64)
        else:
            self.codes, self.levels = _words(values, missing)


def columns(x, names=None):
    """The columns of a data frame, or of a matrix with these names (None: x1, x2, ...)."""
    if is_frame(x):
        return [Column(name, x[name]) for name in x.columns]
    x = _lib.as_numpy(x)
    if x.ndim != 2:
        raise errors.ShapeError(f"the table has {x.ndim} dimensions, not rows and columns")
    names = names or [f"x{j + 1}" for j in range(x.shape[1])]
    return [Column(name, x[:, j]) for j, name in enumerate(names)]


def frame(table):
    """A far_frame of columns."""
    infos, kept = ffi.new("far_column_info[]", max(len(table), 1)), []

    def keep(value):
        kept.append(value)
        return value

    rows = {len(c.codes if c.numbers is None else c.numbers) for c in table}
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


def listed(names):
    """A list of columns as the library reads it: names that hold commas stand in backquotes."""
    return ",".join("`" + name.replace("`", "``") + "`" for name in names)
