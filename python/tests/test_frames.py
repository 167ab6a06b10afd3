"""Tables drawn at random, and odd ones: what Python reads of them is what the command reads of the
same table as csv; and arrays of every kind."""
import datetime
import decimal

import numpy as np
import pandas as pd
import pytest

import farfield
from farfield import _arrow, _fit, _frame, _lib
from farfield._lib import ffi, lib

WORDS = ["red", "blue", "a, b", 'say "hi"', "NA", " none ", "", "ünïcode", "x y", "Ω", "tab\there", "-"]


def read_csv(path):
    """The columns of a csv as the library reads it."""
    frame = _lib.make(lib.far_frame_read, str(path).encode(), ffi.NULL, ffi.NULL, destroy=lib.far_frame_destroy)
    return told(frame)


def told(frame):
    rows, found = lib.far_frame_rows(frame), {}
    for i in range(lib.far_frame_cols(frame)):
        c = lib.far_frame_column(frame, i)
        if c.numbers:
            values = np.frombuffer(ffi.buffer(c.numbers, 8 * rows), np.float64).tolist()
        else:
            levels = [_lib.text(c.levels[k]) for k in range(c.level_count)]
            values = [None if c.codes[r] < 0 else levels[c.codes[r]] for r in range(rows)]
        found[_lib.text(c.name)] = (_lib.text(c.unit), values)
    return found


def same(a, b):
    return all((x is None and y is None) or x == y or (x != x and y != y) for x, y in zip(a, b)) and len(a) == len(b)


def drawn(rng):
    """A table with columns of every kind, some values missing, that a csv can tell apart."""
    n = int(rng.integers(2, 40))

    def gaps(values, none):
        return [none if rng.random() < 0.2 else v for v in values]

    words = rng.choice(WORDS, n)
    words[0] = "red"
    sure = pd.Timestamp("2001-02-03 04:05:06")
    seconds = rng.integers(-(10**9), 2 * 10**9, n)
    return pd.DataFrame({
        "float": gaps(rng.standard_normal(n) * 10.0 ** rng.integers(-300, 300, n), np.nan),
        "small": rng.standard_normal(n).astype(np.float32),
        "whole": rng.integers(-(2**62), 2**62, n),
        "maybe": pd.array(gaps(rng.integers(-5, 5, n).tolist(), pd.NA), dtype="Int64"),
        "word": gaps(words, None),
        "kind": pd.Categorical(gaps(rng.choice(["u", "v", "w"], n), None)),
        "flag": rng.random(n) < 0.5,
        "when": pd.Series([sure, *gaps(pd.to_datetime(seconds[1:], unit="s"), pd.NaT)]),
        "zoned": pd.to_datetime(seconds, unit="s", utc=True).tz_convert("Asia/Kolkata"),
        "day": pd.to_datetime(rng.integers(-20000, 20000, n), unit="D"),
    })  # fmt: skip


def plain_csv(frame, path):
    frame.to_csv(path, index=False, float_format="%.17g")


@pytest.mark.parametrize("seed", range(12))
def test_frames_are_read_as_their_csv(tmp_path, seed):
    rng = np.random.default_rng(seed)
    frame = drawn(rng)
    plain_csv(frame, tmp_path / "t.csv")
    frame["small"] = frame["small"].astype(np.float64)
    plain_csv(frame, tmp_path / "t.csv")
    wanted = read_csv(tmp_path / "t.csv")
    found = {"pandas": frame}
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    found["arrow"] = table
    cut = int(rng.integers(0, len(frame) + 1))
    found["arrow in pieces"] = pyarrow.concat_tables([table.slice(0, cut), table.slice(cut)])
    found["arrow, a slice"] = pyarrow.concat_tables([table, table]).slice(len(frame))
    found["a reader"] = table.to_reader(max_chunksize=7)
    try:
        import polars

        found["polars"] = polars.from_arrow(table)
        found["polars, rechunked"] = polars.from_arrow(table).slice(0, len(frame)).rechunk()
    except ImportError:
        pass
    try:
        import duckdb

        found["duckdb"] = duckdb.from_arrow(table)
    except ImportError:
        pass
    for source, table in found.items():
        ours = told(_frame.frame(_frame.columns(table)))
        assert list(ours) == list(wanted), source
        for name, (unit, values) in wanted.items():
            assert ours[name][0] == unit, (source, name)
            assert same(ours[name][1], values), (source, name, ours[name][1], values)


def test_every_arrow_type_of_numbers_and_dates():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    whole = [3, None, -1 % 100]
    kinds = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(),
             pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(9, 2),
             pa.decimal256(50, 3)]  # fmt: skip
    for kind in kinds:
        values = [None if v is None else decimal.Decimal(v) for v in whole] if "decimal" in str(kind) else whole
        if kind == pa.float16():
            values = [None if v is None else np.float16(v) for v in whole]
        table = pa.table({"v": pa.array(values, kind)})
        assert same(_frame.columns(table)[0].numbers.tolist(), [3.0, np.nan, 99.0]), kind
    day = datetime.date(2020, 2, 29)
    noon = datetime.datetime(2020, 2, 29, 12)
    for kind in [pa.date32(), pa.date64(), *(pa.timestamp(u) for u in ("s", "ms", "us", "ns"))]:
        table = pa.table({"v": pa.array([day if "date" in str(kind) else noon, None], kind)})
        column = _frame.columns(table)[0]
        assert column.unit == "date"
        assert same(column.numbers.tolist(), [18321 + 0.5 * ("date" not in str(kind)), np.nan]), kind
    for kind in [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]:
        words = ["a", None, "", "a much longer text than twelve bytes", "ünï"]
        column = _frame.columns(pa.table({"v": pa.array(words, kind)}))[0]
        found = [None if c < 0 else column.levels[c] for c in column.codes]
        assert found == words, kind
    nothing = _frame.columns(pa.table({"v": pa.array([None, None], pa.null())}))[0]
    assert np.isnan(nothing.numbers).all()
    batch = pa.record_batch({"v": pa.array([True, None, False])}).slice(1)
    column = _frame.columns(batch)[0]
    assert [None if c < 0 else column.levels[c] for c in column.codes] == [None, "False"]


def test_what_is_no_column_is_named():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pa.table({"ok": [1.0], "list": [[1]], "blob": [b"x"], "clock": pa.array([1], pa.time32("s"))})
    with pytest.raises(farfield.ArgError, match=r"list \(list\), blob \(binary\), clock \(time of day\)"):
        _frame.columns(table)
    with pytest.raises(farfield.ArgError, match="one column"):
        _arrow.read(pa.chunked_array([[1, 2]]))
    reader = pa.table({"a": [1.0]}).to_reader()
    capsule = reader.__arrow_c_stream__()
    _arrow._taken(capsule, "Stream")
    with pytest.raises(farfield.ArgError, match="read before"):
        _arrow._taken(capsule, "Stream")

    def broken():
        yield pa.record_batch({"a": [1.0]})
        raise ValueError("the disk is gone")

    with pytest.raises(farfield.FormatError, match="the disk is gone"):
        _frame.columns(pa.RecordBatchReader.from_batches(pa.schema({"a": pa.float64()}), broken()))


def test_empty_tables_are_refused_in_words():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    for empty in (pa.table({"a": pa.array([], pa.float64()), "w": pa.array([], pa.string())}), pa.table({}),
                  pd.DataFrame({"a": []}), pd.DataFrame()):  # fmt: skip
        with pytest.raises(ValueError, match="minimum of 1|0 feature|At least one"):
            farfield.NTKRegressor("dense ln relu dense", impute=True).fit(empty, np.zeros(0))


def test_parquet_and_feather_come_through(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    feather, parquet = pytest.importorskip("pyarrow.feather"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.standard_normal(30), "kind": pa.array(rng.choice(["a", "b"], 30)).dictionary_encode()})
    y = table["x"].to_numpy() ** 2
    feather.write_feather(table, tmp_path / "t.feather")
    parquet.write_table(table, tmp_path / "t.parquet")
    models = [farfield.NTKRegressor("dense ln relu dense").fit(t, y) for t in
              (table, feather.read_table(tmp_path / "t.feather"), parquet.read_table(tmp_path / "t.parquet"))]  # fmt: skip
    assert models[0].predictor_.input_names == ["x", "kind=a", "kind=b"]
    assert all(np.array_equal(m.predict(table), models[0].predict(table)) for m in models)


# ---- arrays ----

RNG = np.random.default_rng(5)


def odd_array(rng):
    """A matrix of numbers in some layout, and the plain one that it stands for."""
    shape = tuple(int(n) for n in rng.integers(1, 9, 2))
    plain = rng.integers(-9, 9, shape).astype(np.float64)
    kinds = ["f8", "f4", ">f8", ">f4", "f2", "i1", "i8", ">i4", "longdouble", "object", "list"]
    kind = kinds[rng.integers(len(kinds))]
    odd = plain if kind == "list" else plain.astype(kind)
    layouts = [lambda a: a, np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2], lambda a: a[::-1][::-1],
               lambda a: np.pad(a, 2)[2:-2, 2:-2], lambda a: a[:, ::-1].copy()[:, ::-1]]  # fmt: skip
    odd = layouts[rng.integers(len(layouts))](odd)
    if rng.random() < 0.3:
        odd = odd.copy() if odd.base is not None else odd
        odd.flags.writeable = False
    if kind in ("f8", "f4") and rng.random() < 0.2:  # not aligned
        raw = np.empty(odd.nbytes + 1, np.uint8)
        moved = raw[1:].view(odd.dtype).reshape(odd.shape)
        moved[...] = odd
        odd = moved
    return (odd.tolist() if kind == "list" else odd), plain


def test_arrays_of_every_layout_are_their_plain_copies():
    k = farfield.kernel("dense ln relu dense")
    for _ in range(200):
        odd, plain = odd_array(RNG)
        if isinstance(odd, np.ndarray) and odd.dtype == object:
            with pytest.raises(farfield.ArgError, match="not of numbers"):
                k(odd)
            continue
        single = isinstance(odd, np.ndarray) and odd.dtype == np.float32
        wanted = k(plain.astype(np.float32) if single else plain)
        assert np.array_equal(k(odd), wanted)


@pytest.mark.parametrize("bad, error", [
    (np.float64(3), farfield.ShapeError), (np.zeros((2, 2, 2)), farfield.ShapeError), ([], farfield.ShapeError),
    (np.array([[1 + 2j]]), farfield.ArgError), (np.array([["a"]]), farfield.ArgError), (None, farfield.FarfieldError),
    (np.array([[np.nan]]), farfield.DataError), (np.array([[1.0], [np.inf]]), farfield.DataError),
    (np.array([["2020-01-01"]], "M8[D]"), farfield.ArgError),
    (np.zeros((3, 0)), farfield.FarfieldError), (np.zeros(3, [("a", "f8")]), farfield.FarfieldError),
])  # fmt: skip
def test_what_is_no_matrix_of_numbers_is_refused(bad, error):
    with pytest.raises(error):
        farfield.kernel("dense ln relu dense")(bad)


def test_no_rows_are_no_rows():
    assert farfield.kernel("dense ln relu dense")(np.zeros((0, 3)), np.ones((2, 3))).shape == (0, 2)


class Foreign:
    """An array that speaks DLPack alone, as those of the array API may."""

    def __init__(self, values, device=None):
        self.values, self.device = values, device

    def __dlpack__(self, **how):
        if self.device:
            raise BufferError("the array is on another device")
        return self.values.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_arrays_of_others_through_dlpack():
    k = farfield.kernel("dense ln relu dense")
    x = RNG.standard_normal((5, 3))
    assert np.array_equal(k(Foreign(x)), k(x))
    assert np.shares_memory(_lib.array(Foreign(x)), x)
    with pytest.raises(farfield.ArgError, match="copy it to the CPU"):
        k(Foreign(x, device="gpu"))


def test_arrays_of_jax_and_of_the_strict_array_api():
    k = farfield.kernel("dense ln relu dense")
    x = RNG.standard_normal((5, 3))
    found = 0
    for name in ("jax.numpy", "array_api_strict"):
        try:
            module = __import__(name, fromlist=["asarray"])
        except ImportError:
            continue
        found += 1
        theirs = module.asarray(x)
        assert np.allclose(k(theirs), k(x), rtol=1e-5)
    if not found:
        pytest.skip("neither jax nor array-api-strict is installed")


# ---- what is odd in frames, and what is refused ----

ARCH = "dense ln relu dense"
START = datetime.datetime(2020, 1, 1, 5)
TIMES = [START + datetime.timedelta(hours=31 * i) for i in range(12)]
INDIA = datetime.timezone(datetime.timedelta(hours=5, minutes=30))


def dates_of(values):
    column = _frame.Column.of_values("d", pd.Series(values, dtype=object))
    assert column.unit == "date"
    return column.numbers.tolist()


def test_dates_as_objects_are_dates():
    """As databases give them; in pandas they are objects, and in a csv they are dates."""
    wanted = _frame.Column.of_values("d", pd.Series(TIMES, dtype="M8[us]")).numbers.tolist()
    assert dates_of(TIMES) == wanted
    assert dates_of([pd.Timestamp(t) for t in TIMES]) == wanted
    assert dates_of([t.replace(tzinfo=datetime.timezone.utc).astimezone(INDIA) for t in TIMES]) == wanted
    assert dates_of([t.date() for t in TIMES]) == [np.floor(d) for d in wanted]
    assert same(dates_of([None, TIMES[1], pd.NaT]), [np.nan, wanted[1], np.nan])


def test_dates_of_pandas_over_arrow_are_dates():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    wanted = _frame.Column.of_values("d", pd.Series(TIMES, dtype="M8[us]")).numbers
    for kind in (pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.date32()):
        column = _frame.Column.of_values("d", pd.Series(TIMES, dtype=pd.ArrowDtype(kind)))
        assert column.unit == "date"
        assert np.array_equal(column.numbers, np.floor(wanted) if kind == pa.date32() else wanted)


@pytest.mark.parametrize("value", [
    pd.Timedelta("1h"), np.timedelta64(3, "s"), 1 + 2j, b"x", [1], (1, 2), {"a": 1}, {1},
    datetime.time(3), pd.Period("2020-01"),
])  # fmt: skip
def test_objects_that_are_no_values_are_refused(value):
    values = pd.Series([value, None, value], dtype=object)
    with pytest.raises(farfield.ArgError, match="column d holds values of type .* neither numbers"):
        _frame.Column.of_values("d", values)


def test_columns_of_pandas_that_arrow_refuses_too():
    hours = pd.to_timedelta([1, 2], unit="h")
    for values in (hours, hours.astype("m8[ns]"), np.array([1j, 2]), pd.period_range("2020", periods=2)):
        with pytest.raises(farfield.ArgError, match="column d holds values of type"):
            _frame.Column.of_values("d", pd.Series(values))
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    dated = pa.table({"d": pa.array([START.date(), None]).dictionary_encode()})
    with pytest.raises(farfield.ArgError, match=r"d \(a dictionary of dates\)"):
        _frame.columns(dated)
    letters = pa.py_buffer(np.arange(3, dtype=np.int32)), pa.py_buffer(b"\xff\xff")
    broken = pa.Array.from_buffers(pa.string(), 2, [None, *letters])
    with pytest.raises(farfield.FormatError, match="column d: a text is not UTF-8"):
        _frame.columns(pa.table({"d": broken}))


def test_numbers_and_texts_beyond_what_can_be_held():
    with pytest.raises(farfield.DataError, match="column d holds a number too large"):
        _frame.Column.of_values("d", pd.Series([1, 10**400], dtype=object))
    with pytest.raises(farfield.ArgError, match="not valid Unicode"):
        _lib.c_text("a\udc80")


def rows():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((24, 2))
    return x, np.sin(x[:, 0])


def test_masked_values_are_missing():
    x, y = rows()
    masked = np.ma.masked_array(x, mask=np.eye(*x.shape, dtype=bool))
    with pytest.raises(ValueError, match="NaN"):
        farfield.NTKRegressor(ARCH).fit(masked, y)
    holes = np.where(masked.mask, np.nan, x)
    found = [farfield.NTKRegressor(ARCH, impute=True).fit(m, y).predict(x) for m in (masked, holes)]
    assert np.array_equal(*found)
    with pytest.raises(farfield.DataError):
        farfield.kernel(ARCH)(masked)
    assert np.array_equal(farfield.kernel(ARCH)(np.ma.masked_array(x)), farfield.kernel(ARCH)(x))


def test_estimators_read_arrays_of_others():
    x, y = rows()
    model = farfield.NTKRegressor(ARCH, ridge=1e-2).fit(Foreign(x), Foreign(y))
    assert np.array_equal(model.predict(Foreign(x)), farfield.NTKRegressor(ARCH, ridge=1e-2).fit(x, y).predict(x))


def test_matrices_of_objects_have_columns_of_their_own_kinds():
    x, y = rows()
    kind = np.where(x[:, 1] > 0, "red", "blue")
    frame = pd.DataFrame({"a": x[:, 0], "kind": kind})
    wanted = farfield.NTKRegressor(ARCH, ridge=1e-2).fit(frame, y)
    for mixed in (frame.to_numpy(), frame.to_numpy().tolist()):
        model = farfield.NTKRegressor(ARCH, ridge=1e-2).fit(mixed, y)
        assert model.predictor_.input_names == ["x1", "x2=blue", "x2=red"]
        assert np.array_equal(model.predict(mixed), wanted.predict(frame))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            assert np.array_equal(wanted.predict(mixed), wanted.predict(frame))
        with pytest.raises(ValueError, match="1 features"):
            model.predict(frame[["kind"]].to_numpy())


def test_frames_for_models_of_matrices_go_by_place():
    x, y = rows()
    model = farfield.NTKRegressor(ARCH, ridge=1e-2).fit(x, y)
    frames = [pd.DataFrame(x, columns=["u", "v"])]
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frames.append(polars.DataFrame({"u": x[:, 0], "v": x[:, 1]}))
    for frame in frames:
        with pytest.warns(UserWarning, match="fitted without feature names"):
            assert np.array_equal(model.predict(frame), model.predict(x))
    with pytest.raises(farfield.ArgError, match="collect"):
        model.predict(frames[1].lazy())
    with pytest.raises(ValueError, match="2-dimensional|2D"):
        model.predict(frames[0]["u"])
    with pytest.raises(ValueError, match=r"24 sample\(s\) and 0 feature"):
        farfield.NTKRegressor(ARCH, impute=True).fit(pd.DataFrame(index=range(24)), y)


# ---- texts that are numbers and dates ----


def written(rng, n=60):
    """Columns of texts as a csv has them, and of objects of several kinds; x is a number."""
    days = pd.to_datetime(rng.integers(0, 20000, n), unit="D")
    values = rng.standard_normal(n) * 1000
    whole = rng.integers(1000, 10**6, n)

    def gaps(texts, word):
        return [word if rng.random() < 0.1 and i > 3 else t for i, t in enumerate(texts)]

    return pd.DataFrame({
        "x": rng.standard_normal(n),
        "iso": gaps(days.strftime("%Y-%m-%d"), None),
        "dotted": gaps(days.strftime("%d.%m.%Y"), "n/a"),
        "spelt": gaps(days.strftime("%b %d %Y 12:30"), "?"),
        "part": gaps([f"{v:.2f}%" for v in values], None),
        "money": gaps([f"${v:,}" for v in whole], None),
        "comma": gaps([f"{v:.3f}".replace(".", ",") for v in values], "NA"),
        "asked": gaps([f"{v:.3f}" for v in values], "?"),
        "code": [f"{k % 3:02d}" for k in range(n)],
        "kind": gaps(rng.choice(["u", "v"], n), None),
        "few": rng.choice(["1", "2", "3", "A", "B"], n),
    })  # fmt: skip


def mixed_objects(rng, n=60):
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 900, n)]
    numbers = rng.standard_normal(n).tolist()
    return pd.DataFrame({
        "gap": pd.Series([*numbers[1:], "NA"], dtype=object),
        "texts": pd.Series([*numbers[2:], "1.5", "?"], dtype=object),
        "day": pd.Series(["n/a", *days[1:]], dtype=object),
        "time": pd.Series([datetime.datetime.combine(d, datetime.time(5, 30)) for d in days[1:]] + ["2020-05-01"], dtype=object),
    })  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_texts_are_read_as_those_of_a_csv(tmp_path, seed):
    rng = np.random.default_rng(seed)
    frame = written(rng)
    whole = pd.concat([frame, mixed_objects(rng)], axis=1)
    plain_csv(whole, tmp_path / "t.csv")
    wanted = read_csv(tmp_path / "t.csv")
    assert sum(unit == "date" for unit, _ in wanted.values()) == 5 and wanted["comma"][1][0] == float(
        frame["comma"][0].replace(",", ".")
    )
    found = {"pandas": whole, "str": frame.astype({"iso": "string", "money": "string"})}
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    found["arrow"] = arrow.Table.from_pandas(frame, preserve_index=False)
    found["over arrow"] = found["arrow"].to_pandas(types_mapper=pd.ArrowDtype)
    for name in ("polars", "duckdb"):
        found[name] = pytest.importorskip(name).from_arrow(found["arrow"])
    for source, table in found.items():
        for name, (unit, values) in told(_frame.frame(_frame.columns(table))).items():
            if name == "code":  # the exception: texts of plain numbers
                assert values == frame["code"].tolist()
            else:
                assert unit == wanted[name][0] and same(values, wanted[name][1]), (source, name, values)


@pytest.mark.parametrize("careful", [False, True])
def test_fits_of_texts_are_those_of_the_command(command, tmp_path, careful):
    rng = np.random.default_rng(9)
    frame = pd.concat([written(rng), mixed_objects(rng)], axis=1)
    y = np.sin(frame["x"])
    model = farfield.NTKRegressor(ARCH, impute=True, careful=careful).fit(frame, y)
    names = model.predictor_.input_names
    assert {"iso", "part", "comma", "gap", "day", "code=01", "few=A"} <= set(names)
    plain_csv(frame.assign(y=y), tmp_path / "t.csv")
    command("fit", "t.csv", "--target", "y", "--arch", ARCH, "--impute", "--categorical", "code", "-o", "m.far")
    theirs = farfield.load(tmp_path / "m.far")
    assert theirs.input_names == names
    told = command("predict", "m.far", "t.csv").split("\n")[1:-1]
    assert model.predict(frame).tolist() == [float(line) for line in told]
    assert np.array_equal(theirs.predict(frame).mean[:, 0], model.predict(frame))


def test_texts_of_plain_numbers_stay_categories():
    x = np.arange(24.0)
    for codes in (["02139", "10001"] * 12, ["02139", "nan", "10001"] * 8, np.array(["1", "2"] * 12)):
        frame = pd.DataFrame({"x": x, "code": codes})
        model = farfield.NTKRegressor(ARCH, ridge=1e-2, impute=True).fit(frame, x)
        assert len(model.predictor_.input_names) == 3
        assert np.array_equal(model.predict(frame[:1]), model.predict(frame)[:1])
    kept = pd.DataFrame({"x": x, "day": pd.Categorical(["2020-01-01", "2020-01-02"] * 12)})
    names = farfield.NTKRegressor(ARCH, ridge=1e-2).fit(kept, x).predictor_.input_names
    assert names == ["x", "day=2020-01-01", "day=2020-01-02"]
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    over_arrow = kept.astype({"day": pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))})
    assert farfield.NTKRegressor(ARCH, ridge=1e-2).fit(over_arrow, x).predictor_.input_names == names


def test_odd_cells_among_numbers_and_dates_are_named():
    x = np.linspace(-1, 1, 40)
    days = [f"2020-01-{1 + i % 28:02d}" for i in range(40)]
    for values, what in (([*range(39), "oops"], "numbers"), ([*days[:-1], "oops"], "dates")):
        frame = pd.DataFrame({"x": x, "d": pd.Series(values, dtype=object)})
        for estimator in (farfield.NTKRegressor(ARCH), farfield.NetworkRegressor("dense(4) relu dense", epochs=2)):
            with pytest.raises(farfield.FormatError, match=f"d holds {what}.*'oops' in row 40.*astype\\('category'\\)"):
                estimator.fit(frame, x)
        farfield.NTKRegressor(ARCH, ridge=1e-2).fit(frame.astype({"d": str}).astype({"d": "category"}), x)
    with pytest.raises(farfield.FormatError, match="'oops' in row 40"):
        farfield.NTKRegressor(ARCH).fit(frame.to_numpy(), x)


def test_one_row_is_read_as_the_column_was():
    x = np.linspace(-1, 1, 40)
    days = pd.to_datetime(np.arange(40) * 9, unit="D")
    frame = pd.DataFrame({"x": x, "d": days.strftime("%d/%m/%Y"), "n": [*(f"{v:.3f}" for v in x[1:]), "?"]})
    model = farfield.NTKRegressor(ARCH, ridge=1e-2, impute=True).fit(frame, x)
    assert model.predictor_.input_names == ["x", "d", "n"]
    wanted = model.predict(frame)
    for i in (0, 1, 30):
        row = frame.iloc[[i]]
        assert np.array_equal(model.predict(row), wanted[[i]])
        for text in ("%Y-%m-%d", "%d.%m.%Y", "%d %b %Y"):
            assert np.array_equal(model.predict(row.assign(d=days[i].strftime(text))), wanted[[i]])
        assert np.array_equal(model.predict(row.assign(d=days[i], n=row["n"].astype(float))), wanted[[i]])
    with pytest.raises(farfield.FormatError, match="column d holds words here \\('garbage'\\)"):
        model.predict(row.assign(d="garbage"))
    with pytest.raises(farfield.FormatError, match="plain numbers here, but dates"):
        model.predict(row.assign(d=3))


def test_matrices_of_texts_have_columns_of_their_own_kinds():
    x = np.arange(24)
    table = np.column_stack([x.astype(str), np.array(["a", "b"] * 12), [f"{v}%" for v in x]])
    model = farfield.NTKRegressor(ARCH, ridge=1e-2).fit(table, x)
    assert model.predictor_.input_names == ["x1", "x2=a", "x2=b", "x3"]


# ---- points of frames ----


def of_kinds(n=60):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"a": rng.standard_normal(n), "kind": ["u", "v", "w"] * (n // 3)})
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), unit="h")
    frame["b"] = [f"{v:.2f}%" for v in rng.standard_normal(n)]
    frame.loc[3, "a"] = np.nan
    return frame, np.sin(frame["day"].dt.day_of_year / 30) + (frame["kind"] == "u")


@pytest.mark.parametrize("estimator", [
    farfield.NTKRegressor(ARCH, impute=True), farfield.NTKRegressor(ARCH, impute=True, ranks="steps"),
    farfield.NTKClassifier(ARCH, impute=True), farfield.NetworkRegressor("dense(8) ln relu dense", epochs=9, impute=True),
    farfield.NetworkClassifier("dense(8) ln relu dense", epochs=9, impute=True, committee=2),
])  # fmt: skip
def test_frames_are_points_by_the_names_of_their_columns(tmp_path, estimator):
    frame, y = of_kinds()
    model = estimator.fit(frame, y if hasattr(estimator, "sample_y") else y > 0.5)
    model.save(tmp_path / "f.far")
    f, turned = farfield.load(tmp_path / "f.far"), frame[["b", "day", "kind", "a"]].assign(more="x")
    if estimator.__class__ is not farfield.NetworkClassifier:  # whose mean is of probabilities
        assert np.array_equal(f(turned), f.predict(frame).mean)
    assert np.array_equal(f(turned), f(frame)) and np.array_equal(f.gradient(turned), model.gradient(frame))
    x = f._rows(frame)
    assert np.array_equal(f(x), f(turned)) and np.array_equal(f.gradient(x), f.gradient(turned))
    assert f.gradient(turned).shape == (60, len(f.output_names), len(f.input_names))
    with pytest.raises(ValueError, match="same order"):
        model.gradient(frame[["b", "day", "kind", "a"]])
    with pytest.raises(farfield.ArgError, match="day"):
        f(frame.drop(columns="day"))
    for limit in (f.limit, model.limit):
        with pytest.raises(farfield.ArgError, match=r"predict\(U, at_infinity=True\)"):
            limit(frame)
    with pytest.warns(UserWarning, match="category that the training data does not have"):
        f(turned.assign(kind="z"))


def test_frames_of_numbers_are_never_taken_in_another_order():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.standard_normal((30, 2)), columns=["a", "b"])
    y = np.sin(3 * frame["a"])
    for model in (farfield.NTKRegressor(ARCH, ridge=1e-3).fit(frame, y), farfield.NetworkRegressor(epochs=9).fit(frame, y)):
        f, x = model.predictor_, frame.to_numpy()
        assert np.array_equal(f(frame[["b", "a"]]), f(x)) and np.array_equal(f(x), f.predict(frame).mean)
        assert np.array_equal(f.gradient(frame[["b", "a"]]), f.gradient(x))
        assert np.array_equal(model.gradient(frame), f.gradient(x))
        with pytest.raises(ValueError, match="same order"):
            model.gradient(frame[["b", "a"]])
        target = y.to_numpy().reshape(-1, 1)
        (score, lost), (same_score, same_lost) = (f.importance(t, target) for t in (frame[["b", "a"]], x))
        assert score == same_score and np.array_equal(lost, same_lost)
        with pytest.raises(farfield.ArgError, match="`predict`"):
            f(np.array([["a", "b"]], object))


def test_frames_for_predictors_of_matrices_go_by_place():
    x, y = rows()
    model = farfield.NTKRegressor(ARCH, ridge=1e-2).fit(x, y)
    frame = pd.DataFrame(x, columns=["u", "v"])
    for ask in (model.predictor_, model.predictor_.gradient, model.gradient, lambda t: model.predictor_.predict(t).mean):
        with pytest.warns(UserWarning, match="fitted without feature names"):
            found = ask(frame)
        assert np.array_equal(found, ask(x))
    assert np.array_equal(model.predictor_(frame.set_axis(["x2", "x1"], axis=1)), model.predictor_(x[:, ::-1]))
    with pytest.raises(farfield.ArgError):
        model.predictor_(frame[["u"]])
    with pytest.raises(farfield.ArgError):
        model.predictor_(frame.set_axis(["x1", "v"], axis=1))


def test_a_network_without_names_takes_frames_by_place():
    x, _ = rows()
    opts = _lib.Options("far_net_opts", inputs=2, outputs=1, seed=1)
    net = _lib.make(lib.far_net_create, _lib.c_text("dense(4) relu dense"), opts.pointer, destroy=lib.far_net_destroy)
    f, frame = farfield.Predictor(_fit.of_net(net)), pd.DataFrame(x, columns=["u", "v"])
    assert np.array_equal(f(frame), f(x)) and np.array_equal(f.gradient(frame), f.gradient(x))


def test_a_matrix_of_objects_is_predicted_as_it_was_fitted():
    numbers = np.random.default_rng(1).normal(size=24)
    X = np.array([[True, None, False] * 8, list(numbers)], dtype=object).T
    model = farfield.NTKRegressor(ARCH, ridge=0.01, impute=True).fit(X, 2 * numbers)
    assert model.predictor_.input_names == ["x1=False", "x1=True", "x2"]
    assert (model.predictor_.predict(X).mean[:, 0] == model.predict(X)).all()
    loose = np.array([["1_000", "2", "b"] * 8, list(numbers)], dtype=object).T
    assert farfield.NTKRegressor(ARCH, ridge=0.01).fit(loose, numbers).predictor_.input_names[:3] == [
        "x1=1_000", "x1=2", "x1=b"]  # fmt: skip
