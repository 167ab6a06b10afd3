"""Tables through Arrow's C interface (`__arrow_c_stream__`), without pyarrow: polars, DuckDB, pyarrow
and whatever else speaks it. Columns come out as NumPy arrays and texts."""
from __future__ import annotations

import ctypes
from typing import Any, Iterator, NamedTuple

import numpy as np

from . import _lib, errors
from ._lib import ffi

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

_NUMBERS = {
    "c": np.int8, "C": np.uint8, "s": np.int16, "S": np.uint16, "i": np.int32, "I": np.uint32,
    "l": np.int64, "L": np.uint64, "e": np.float16, "f": np.float32, "g": np.float64,
}  # fmt: skip
_PER_SECOND = {"s": 1, "m": 10**3, "u": 10**6, "n": 10**9}
_TEXT_OFFSETS = {"u": np.int32, "U": np.int64}
DAY_SECONDS = 86400


class Piece(NamedTuple):
    """Some rows of a column: numbers (NaN: missing) with their unit, or texts (None: missing), which
    are written where they are no categories or booleans."""

    numbers: np.ndarray | None
    texts: list[str | None] | None
    unit: str = ""
    written: bool = False


def speaks(x: Any) -> bool:
    """Whether x offers its columns through Arrow's C interface."""
    return hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__")


def read(table: Any) -> list[tuple[str, list[Piece]]]:
    """The columns of a table: their names and pieces."""
    if hasattr(table, "__arrow_c_stream__"):
        return _read_stream(_taken(table.__arrow_c_stream__(), "Stream"))
    schema, array = table.__arrow_c_array__()
    return _assemble(_taken(schema, "Schema"), iter([_taken(array, "Array")]))


def _taken(capsule: Any, kind: str) -> Any:
    """The struct of a capsule, moved out of it, and released when it is dropped."""
    name = {"Stream": b"arrow_array_stream", "Schema": b"arrow_schema", "Array": b"arrow_array"}
    struct = "struct Arrow" + {"Stream": "ArrayStream"}.get(kind, kind)
    theirs = ffi.cast(struct + " *", _pointer(capsule, name[kind]))
    if not theirs.release:
        raise errors.ArgError("the Arrow data were read before; such a reader gives them once")
    ours = ffi.new(struct + " *")
    ours[0] = theirs[0]
    theirs.release = ffi.NULL
    return ffi.gc(ours, _release)


def _release(struct: Any) -> None:
    if struct.release:
        struct.release(struct)


def _read_stream(stream: Any) -> list[tuple[str, list[Piece]]]:
    schema = ffi.gc(ffi.new("struct ArrowSchema *"), _release)
    _check(stream, stream.get_schema(stream, schema))
    return _assemble(schema, _batches(stream))


def _batches(stream: Any) -> Iterator[Any]:
    while True:
        array = ffi.gc(ffi.new("struct ArrowArray *"), _release)
        _check(stream, stream.get_next(stream, array))
        if not array.release:
            return
        yield array


def _check(stream: Any, code: int) -> None:
    if code != 0:
        message = _lib.text(stream.get_last_error(stream)) or f"error {code}"
        raise errors.FormatError(f"the Arrow stream failed: {message}")


def _assemble(schema: Any, batches: Iterator[Any]) -> list[tuple[str, list[Piece]]]:
    if _lib.text(schema.format) != "+s":
        raise errors.ArgError("the Arrow data are one column, not a table of named columns")
    columns = [schema.children[i] for i in range(schema.n_children)]
    names = [_lib.text(c.name) or "" for c in columns]
    _refuse_unknown(columns, names)
    pieces: list[list[Piece]] = [[] for _ in columns]
    for batch in batches:
        if batch.null_count > 0:
            raise errors.ArgError("the Arrow table has rows that are null as a whole")
        for i, column in enumerate(columns):
            child = batch.children[i]
            pieces[i].append(_piece(column, child, batch.offset + child.offset, batch.length))
    for column, found in zip(columns, pieces):
        if not found:
            found.append(_empty(column))
    return list(zip(names, pieces))


# ---- types ----


def _is_known(kind: str) -> bool:
    simple = kind in _NUMBERS or kind in ("b", "n", "u", "U", "vu", "tdD", "tdm")
    return simple or kind[:2] == "ts" or kind[:2] == "d:"


# How formats of the C interface begin, and what they are.
_TYPE_NAMES = {
    "z": "binary", "Z": "binary", "vz": "binary", "w": "binary", "tt": "time of day", "tD": "duration",
    "ti": "interval", "td": "dates", "ts": "times", "+s": "struct", "+m": "map", "+u": "union",
    "+r": "run-end encoded", "+": "list", "_pli128": "128-bit integers",
}  # fmt: skip


def _type_name(kind: str) -> str:
    named = (name for start, name in _TYPE_NAMES.items() if kind.startswith(start))
    return next(named, f"format {kind}")


def _refuse_unknown(columns: list[Any], names: list[str]) -> None:
    kinds = [_lib.words((c.dictionary if c.dictionary else c).format) for c in columns]
    dated = [bool(c.dictionary) and k[0] == "t" for c, k in zip(columns, kinds)]
    unknown = [
        f"{n} (a dictionary of {_type_name(k)})" if d else f"{n} ({_type_name(k)})"
        for n, k, d in zip(names, kinds, dated)
        if d or not _is_known(k)
    ]
    if unknown:
        raise errors.ArgError(
            "columns of these Arrow types become neither numbers, categories nor dates: "
            + ", ".join(unknown) + "; cast them, or leave them out"
        )  # fmt: skip


def _empty(column: Any) -> Piece:
    is_text = bool(column.dictionary) or _lib.text(column.format) in ("b", "u", "U", "vu")
    return Piece(None, []) if is_text else Piece(np.empty(0), None)


def _piece(column: Any, array: Any, first: int, rows: int) -> Piece:
    kind = _lib.words(column.format)
    missing = _missing(array, first, rows)
    if column.dictionary:
        levels = _levels(column.dictionary, array.dictionary)
        codes = _values(array, first, rows, _NUMBERS[kind])
        return Piece(None, [None if m else levels[c] for c, m in zip(codes.tolist(), missing)])
    if kind == "b":
        bits = _bits(array, 1, first, rows)
        return Piece(None, [None if m else str(bool(b)) for b, m in zip(bits, missing)])
    if kind in _TEXT_OFFSETS or kind == "vu":
        texts = _views if kind == "vu" else _texts
        try:
            return Piece(None, texts(array, first, rows, missing, kind), written=True)
        except UnicodeDecodeError as error:
            name = _lib.text(column.name)
            raise errors.FormatError(f"column {name}: a text is not UTF-8: {error.reason}") from None
    numbers, unit = _numbers(kind, array, first, rows)
    return Piece(np.where(missing, np.nan, numbers), None, unit)


def _numbers(kind: str, array: Any, first: int, rows: int) -> tuple[np.ndarray, str]:
    if kind == "n":
        return np.full(rows, np.nan), ""
    if kind == "tdD":
        return _values(array, first, rows, np.int32).astype(np.float64), "date"
    if kind == "tdm":
        return days(_values(array, first, rows, np.int64), 1000), "date"
    if kind[:2] == "ts":  # with a zone they are UTC, as the command has them
        return days(_values(array, first, rows, np.int64), _PER_SECOND[kind[2]]), "date"
    if kind[:2] == "d:":
        return _decimals(kind, array, first, rows), ""
    return _values(array, first, rows, _NUMBERS[kind]).astype(np.float64), ""


def days(ticks: np.ndarray, per_second: int) -> np.ndarray:
    """Days since 1970-01-01 of whole ticks since then, rounded as the library rounds dates."""
    whole, rest = np.divmod(ticks, per_second * DAY_SECONDS)
    return whole + rest / per_second / DAY_SECONDS


def _decimals(kind: str, array: Any, first: int, rows: int) -> np.ndarray:
    words = kind[2:].split(",")
    scale, width = int(words[1]), int(words[2]) // 8 if len(words) > 2 else 16
    raw = bytes(_buffer(array, 1, (first + rows) * width))[first * width :]
    whole = (int.from_bytes(raw[i : i + width], "little", signed=True)
             for i in range(0, len(raw), width))  # fmt: skip
    up, down = 10 ** max(-scale, 0), 10 ** max(scale, 0)
    return np.array([w * up / down for w in whole], np.float64)


# ---- buffers ----


def _buffer(array: Any, i: int, size: int) -> Any:
    return ffi.buffer(ffi.cast("char *", array.buffers[i]), size) if size else b""


def _values(array: Any, first: int, rows: int, dtype: Any) -> np.ndarray:
    size = np.dtype(dtype).itemsize
    return np.frombuffer(_buffer(array, 1, (first + rows) * size), dtype)[first:]


def _bits(array: Any, i: int, first: int, rows: int) -> np.ndarray:
    packed = np.frombuffer(_buffer(array, i, (first + rows + 7) // 8), np.uint8)
    return np.unpackbits(packed, bitorder="little")[first : first + rows].astype(bool)


def _missing(array: Any, first: int, rows: int) -> np.ndarray:
    if array.n_buffers == 0 or not array.buffers[0] or array.null_count == 0:
        return np.zeros(rows, bool)
    return ~_bits(array, 0, first, rows)


def _texts(array: Any, first: int, rows: int, missing: np.ndarray, kind: str) -> list[str | None]:
    if rows == 0:
        return []
    ends = _values(array, first, rows + 1, _TEXT_OFFSETS[kind]).tolist()
    raw = bytes(_buffer(array, 2, ends[-1]))
    return [None if missing[i] else raw[ends[i] : ends[i + 1]].decode() for i in range(rows)]


def _views(array: Any, first: int, rows: int, missing: np.ndarray, kind: str) -> list[str | None]:
    """Texts of up to 12 bytes stand in their views; of others the views say where they are."""
    raw = bytes(_buffer(array, 1, (first + rows) * 16))
    heads = np.frombuffer(raw, np.int32).reshape(-1, 4).tolist()
    found: list[str | None] = []
    for i in range(first, first + rows):
        size, _, block, at = heads[i]
        if missing[i - first]:
            found.append(None)
        elif size <= 12:
            found.append(raw[16 * i + 4 : 16 * i + 4 + size].decode())
        else:
            place = ffi.cast("char *", array.buffers[2 + block])
            found.append(ffi.buffer(place + at, size)[:].decode())
    return found


def _levels(column: Any, array: Any) -> list[str | None]:
    """The categories as texts; None: a category that is a missing value."""
    piece = _piece(column, array, array.offset, array.length)
    if piece.texts is not None:
        return piece.texts
    whole = _lib.words(column.format) in "cCsSiIlL"
    assert piece.numbers is not None
    return [None if v != v else str(int(v) if whole or v.is_integer() else v) for v in piece.numbers.tolist()]
