"""Whatever was fitted, trained or loaded, asked in one way."""
from __future__ import annotations

import html
import os
import tempfile
import warnings
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np
from numpy.typing import ArrayLike

from . import _frame, _lib, errors
from ._certificate import Certificate
from ._figure import Figure
from ._frame import Column
from ._lib import ffi, lib


class Prediction(NamedTuple):
    """Rows of a table as predicted; what does not apply is None. The mean of a classifier holds scores
    that sum to 1 and may be negative (infinite width), or its probabilities (finite networks);
    `probability` are probabilities of both.

    >>> X = np.linspace(-3, 3, 20).reshape(-1, 1)
    >>> p = farfield.NTKRegressor("dense ln relu dense").fit(X, X[:, 0]).predictor_
    >>> found = p.predict([[0.0], [9.0]], spread="calibrated")
    >>> found.mean.shape, found.std.shape, found.probability
    ((2, 1), (2, 1), None)
    """

    mean: np.ndarray  # rows x outputs, in the units of the targets; of classes see below
    std: np.ndarray | None
    probability: np.ndarray | None  # rows x classes
    order: np.ndarray | None  # at infinity


class Metric(NamedTuple):
    """The linear map that inputs go through before the network sees them.

    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> model = farfield.NTKRegressor("dense ln relu dense", metric="diagonal").fit(X, X[:, 0])
    >>> model.metric_.kind, model.metric_.map.shape, int(model.metric_.importance.argmax())
    ('diagonal', (3, 1), 0)
    """

    kind: str  # "diagonal" or "full"
    rank: int
    map: np.ndarray  # of standardised inputs: inputs x 1, or inputs x inputs
    importance: np.ndarray  # how much the fit changes with each input, sum 1


class Predictor:
    """A model of infinite width, a network, a linear model, trees, or a committee of them.
    Made by `load`, `from_torch`, and the `predictor_` of an estimator. It pickles.

    >>> X = np.linspace(-3, 3, 20).reshape(-1, 1)
    >>> f = farfield.NTKRegressor("dense ln relu dense").fit(X, X[:, 0]).predictor_
    >>> f([[0.0], [1e9]]).shape, f.kind, f.input_names
    ((2, 1), 'infinite', ['x1'])
    """

    def __init__(self, pointer: Any, *kept: Any) -> None:
        self._predictor, self._kept = pointer, kept
        self._without: list[str] = []  # parameters that the module it came from does not have

    # ---- files ----

    @classmethod
    def load(cls, path: str | os.PathLike[str], arch: str | None = None) -> Predictor:
        """Any file that Farfield writes, or safetensors of PyTorch (arch: of a network whose file
        does not name it)."""
        return cls(
            _lib.make(
                lib.far_predictor_load,
                _lib.c_path(path),
                ffi.NULL if arch is None else _lib.c_text(str(arch)),
                destroy=lib.far_predictor_destroy,
            )
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """To a file, which `farfield.load` and the command read."""
        _lib.call(lib.far_predictor_save, self._predictor, _lib.c_path(path))

    def __reduce__(self) -> tuple[Any, tuple[bytes, list[str]]]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "predictor")
            self.save(path)
            with open(path, "rb") as file:
                return _unpickle, (file.read(), self._without)

    # ---- what it is ----

    @property
    def _info(self) -> Any:
        return lib.far_predictor_describe(self._predictor)

    @property
    def kind(self) -> str:
        """"infinite", "finite", "linear", "trees" or "committee"."""
        return _lib.text(self._info.name) or ""

    @property
    def arch(self) -> str | None:
        """The network, None if it is none."""
        return _lib.text(self._info.arch)

    @property
    def ridge(self) -> float:
        """Relative to the mean diagonal of the kernel; NaN: there is none."""
        return self._info.ridge

    @property
    def metric(self) -> Metric | None:
        """The `Metric` in front of a network of infinite width; None: there is none."""
        model = lib.far_predictor_model(self._predictor)
        if not model or model.metric.kind == lib.FAR_METRIC_NONE:
            return None
        m = model.metric
        kind = "diagonal" if m.kind == lib.FAR_METRIC_DIAGONAL else "full"
        return Metric(kind, m.rank, _lib.copy(m.map), _lib.copy(m.importance)[:, 0])

    @property
    def members(self) -> list[Predictor]:
        """Of a committee its members, else []."""
        count = self._info.members if self.kind == "committee" else 0
        return [Predictor(lib.far_predictor_member(self._predictor, i), self) for i in range(count)]

    @property
    def input_names(self) -> list[str]:
        """Of the numbers that it takes: columns, and "kind=red" of categories."""
        c = lib.far_columns_describe(self._info.columns)
        return [_lib.words(c.input_names[i]) for i in range(c.inputs)]

    @property
    def features(self) -> list[str]:
        """The columns of its tables; [] where there were none."""
        return [_lib.words(feature.name) for feature in self._features()]

    @property
    def output_names(self) -> list[str]:
        """Of the numbers that it gives: targets, or classes."""
        c = lib.far_columns_describe(self._info.columns)
        return [_lib.words(c.output_names[i]) for i in range(c.outputs)]

    @property
    def class_names(self) -> list[str]:
        """Of a classifier, else []."""
        c = lib.far_columns_describe(self._info.columns)
        return [_lib.words(c.class_names[i]) for i in range(c.classes)]

    def __repr__(self) -> str:
        return f"<farfield.Predictor {self.kind}" + (f", {self.arch}>" if self.arch else ">")

    def _repr_html_(self) -> str:
        info = self._info
        facts = {
            "network": self.arch, "inputs": ", ".join(self.input_names[:20]),
            "outputs": ", ".join(self.output_names[:20]), "rows": info.rows if info.rows >= 0 else None,
            "ridge": None if np.isnan(info.ridge) else f"{info.ridge:.3g}",
        }  # fmt: skip
        rows = "".join(
            f"<tr><th>{name}</th><td>{html.escape(str(value))}</td></tr>"
            for name, value in facts.items() if value is not None
        )  # fmt: skip
        return f"<p><b>farfield.Predictor</b>, {html.escape(self.kind)}</p><table>{rows}</table>"

    # ---- values ----

    def _points(self, x: Any, name: str = "x") -> np.ndarray:
        """m x inputs, of a data frame too; rows of a matrix of features, where they are fewer columns
        than inputs, are refused."""
        if _is_table(x):
            return self._rows(x)
        x = _lib.as_numpy(x)
        if x.dtype.kind in "OUT":
            raise errors.ArgError(
                f"{name} is an array of {x.dtype}, not of numbers; rows of features, with texts and "
                "dates, are for `predict`, or stand in a data frame with the names of the columns"
            )
        x = _lib.array(x, name).astype(np.float64, copy=False)
        columns = lib.far_columns_describe(self._info.columns)
        if columns.named and x.shape[1] == columns.features != columns.inputs:
            raise errors.ShapeError(
                f"{name} has {columns.features} columns, one for each feature, but the model has "
                f"{columns.inputs} inputs (`input_names`): one-hot categories and ranks of numbers "
                "count. `predict` takes rows of features, and with at_infinity=True directions; "
                'fitted with ranks="none" a number is one input'
            )
        return x

    def _rows(self, table: Any) -> np.ndarray:
        """Rows of a table as points in raw units: numbers as they stand there."""
        frame = self._frame(table)
        self._warn_of_unseen(frame)
        columns = self._info.columns
        scaling = lib.far_columns_describe(columns).scaling
        points = self._encoded(frame) * _lib.copy(scaling.input_scale) + _lib.copy(scaling.input_centre)
        for feature in self._features():
            _put_exactly(points, feature, frame)
        for point in points:
            lib.far_columns_set_ranks(columns, ffi.from_buffer("double[]", point))
        return points

    def _features(self) -> list[Any]:
        columns = self._info.columns
        count = lib.far_columns_describe(columns).features if columns else 0
        found = (lib.far_columns_feature(columns, i) for i in range(count))
        return [feature for feature in found if feature.name]

    def _ranks(self) -> set[int]:
        """Which inputs are ranks of others, in steps or not."""
        return {f.first + k for f in self._features() if f.ranked for k in range(1, f.width)}

    def __call__(self, x: Any) -> np.ndarray:
        """f(x), m x outputs, of points m x inputs in raw units, or of the rows of a data frame, by the
        names of its columns; `predict` takes matrices of features.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"kind": ["a", "b"] * 10, "x": np.linspace(-3, 3, 20)})
        >>> f = farfield.NTKRegressor("dense ln relu dense").fit(frame, frame["x"]).predictor_
        >>> f.input_names, f(frame[["x", "kind"]]).shape
        (['kind=a', 'kind=b', 'x'], (20, 1))
        """
        x = self._points(x)
        out = np.empty((len(x), self._info.outputs))
        _lib.call(lib.far_predictor_eval, self._predictor, _lib.view(x), _lib.view(out))
        return out

    def gradient(self, x: Any) -> np.ndarray:
        """df/dx at points m x inputs in raw units, or at the rows of a data frame: m x outputs x inputs
        (`input_names`: one-hot categories and ranks are inputs of their own). In closed form at
        infinite width; of classes, of their scores or logits.

        >>> X = np.linspace(-3, 3, 20).reshape(-1, 1)
        >>> f = farfield.NTKRegressor("dense ln relu dense").fit(X, X[:, 0]).predictor_
        >>> f.gradient([[0.1], [0.2]]).shape
        (2, 1, 1)
        """
        x = self._points(x)
        out = np.empty((len(x), self._info.outputs, self._info.inputs))
        flat = out.reshape(len(x), -1)
        _lib.call(lib.far_model_gradient, self._predictor, _lib.view(x), _lib.view(flat))
        return out

    def limit(self, u: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """(value, order), each m x outputs: f(t u_i) ~ value t ** order as t grows, of directions
        m x inputs. `predict(U, at_infinity=True)` takes directions of features."""
        if _is_table(u):
            raise errors.ArgError(
                "u is a data frame, and limit takes a matrix of directions of inputs (`input_names`); "
                "for directions of features: `Predictor.predict(U, at_infinity=True)`"
            )
        u = self._points(u, "u")
        out = [np.empty((len(u), self._info.outputs)) for _ in range(2)]
        _lib.call(lib.far_predictor_limit, self._predictor, _lib.view(u), *map(_lib.view, out))
        return out[0], out[1]

    def predict(self, table: Any, spread: str | None = None, **options: Any) -> Prediction:
        """The rows of a table (a data frame, by the names of its columns, or a matrix): a
        `Prediction`. spread: "calibrated", "posterior", "ensemble" or "likelihood"; options: time,
        steps, rate, at_infinity, memory (far_predict_opts)."""
        frame = self._frame(table)
        if not options.get("at_infinity"):  # directions have no categories
            self._warn_of_unseen(frame)
        opts = _lib.Options("far_predict_opts", spread=spread, **options)
        p = _lib.make(
            lib.far_predictor_predict,
            self._predictor,
            frame,
            opts.pointer,
            destroy=lib.far_prediction_destroy,
        )
        return Prediction(*(_lib.copy(m) for m in (p.mean, p.std, p.probability, p.order)))

    def importance(
        self, x: Any, y: ArrayLike, repeats: int = 10, seed: int = 0
    ) -> tuple[float, np.ndarray]:
        """(score, lost): R2 or accuracy on the points x (or rows of a data frame) with targets y
        (m x outputs; of classes: indicators), and how much of it is lost when each feature is
        shuffled."""
        x, y = self._points(x), _lib.array(y, "y").astype(np.float64, copy=False)
        columns = lib.far_columns_describe(self._info.columns)
        lost, score = np.empty(columns.features if columns.named else columns.inputs), np.empty(1)
        _lib.call(
            lib.far_predictor_importance,
            self._predictor,
            _lib.view(x),
            _lib.view(y),
            repeats,
            seed,
            ffi.from_buffer("double[]", score),
            ffi.from_buffer("double[]", lost),
        )
        return float(score[0]), lost

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """(x, y): the rows that it was fitted to, raw; those of infinite width keep them."""
        if self.members:
            return self.members[0].rows()
        info = self._info
        x, y = (np.empty((max(info.rows, 0), n)) for n in (info.inputs, info.outputs))
        _lib.call(lib.far_predictor_rows, self._predictor, _lib.view(x), _lib.view(y))
        return x, y

    def _warn_of_unseen(self, frame: Any) -> None:
        """Of categories that count as none of the known ones."""
        columns = self._info.columns
        if not self._categorical():
            return
        found = ffi.new("far_unseen *")
        _lib.call(lib.far_columns_unseen, columns, frame, ffi.NULL, ffi.NULL, found)
        if found.rows:
            have = "row has" if found.rows == 1 else "rows have"
            warnings.warn(
                f"{found.rows} {have} a category that the training data does not have, as row "
                f"{found.row + 1}, column {_lib.words(found.column)}: "
                f"{_lib.words(found.category)!r}; it counts as none of the known ones",
                UserWarning,
                stacklevel=_lib.outside(),
            )

    def _frame(self, table: Any) -> Any:
        names, categorical = None, self._categorical()
        if hasattr(table, "table"):  # columns that are ready
            return _frame.frame(table.table, categorical)
        if not _frame.is_frame(table):
            columns = lib.far_columns_describe(self._info.columns)
            if columns.named:
                names, shape = self.features, _lib.as_numpy(table).shape
                if len(shape) == 2 and shape[1] != len(names):
                    raise errors.ShapeError(f"the table has {shape[1]} columns, not {len(names)}")
        found = _frame.columns(table, names)
        if _frame.is_frame(table) and self._is_of_matrix(found):
            _frame.take_by_place(found, "the predictor")
        return _frame.frame(found, categorical)

    def _is_of_matrix(self, table: Sequence[Column]) -> bool:
        """Whether it was fitted to a matrix, and has no column of this frame by name, but as many."""
        features = self.features
        unnamed = features == [f"x{j + 1}" for j in range(len(table))]
        return unnamed and not set(features) & {c.name for c in table}

    def _categorical(self) -> set[str]:
        """The features that are categories."""
        return {_lib.words(f.name) for f in self._features() if f.levels}

    def plot(
        self, feature: int | str = 0, *, at: Any = None, reach: float = 3.0,
        points: int = 400, output: int | str = 0, certificate: Certificate | None = None,
        rows: tuple[np.ndarray, np.ndarray] | None = None, **options: Any,
    ) -> Figure:  # fmt: skip
        """A `Figure` of one output along one input, both by number or name, far beyond its data: from
        reach times their range below to as much above. Ranks follow their numbers, and are not
        counted in feature; the other inputs stay at `at` (default: means of the rows), a value for
        each input, or a dict of some: {"x": 3, "kind": "red"}.
        rows: (x, y), raw, which are shown as points if f has one input, else as rules at the ends of
        their range; those of infinite width keep theirs. A note says where the other inputs are.
        certificate: its bounds are shown. options: those of Figure.

        >>> X = np.linspace(-3, 3, 20).reshape(-1, 1)
        >>> model = farfield.NTKRegressor("dense ln relu dense").fit(X, np.sin(X[:, 0]))
        >>> figure = model.plot(certificate=model.certify(seconds=0))
        >>> figure.svg().count("far-series") >= 3
        True
        """
        names, ranks = self.input_names, self._ranks()
        j = _chosen([(i, name) for i, name in enumerate(names) if i not in ranks], feature)
        output = _chosen(list(enumerate(self.output_names)), output, "output")
        x, y = self.rows() if rows is None else rows
        low, high = x[:, j].min(), x[:, j].max()
        wide = _above_zero("reach", reach) * ((high - low) or 1.0)
        line = np.linspace(low - wide, high + wide, _lib.whole("points", points, 2))
        place = np.tile(self._place(at, np.mean(x, axis=0)), (points, 1))
        place[:, j] = line
        for point in place if ranks else ():
            lib.far_columns_set_ranks(self._info.columns, ffi.from_buffer("double[]", point))
        still = [(names[i], place[0, i]) for i in range(len(names)) if i != j and i not in ranks]
        labels = {"x_label": names[j], "y_label": self.output_names[output]}
        if still:
            labels["note"] = _standing(still, at is None)
        figure = Figure(**{**labels, **options}).line(line, self(place)[:, output], label="f")
        if len(names) - len(ranks) == 1 and not self.class_names:
            figure.points(x[:, 0], y[:, output], label="data")
        else:
            figure.rule(low, vertical=True, label="range of the data").rule(high, vertical=True)
        if certificate is not None and certificate.outputs[output].bounded:
            figure.rule(certificate.outputs[output].highest, label="proven bound")
            figure.rule(certificate.outputs[output].lowest)
        return figure

    def _place(self, at: Any, mean: np.ndarray) -> np.ndarray:
        """The point at which inputs stand that do not move."""
        if at is None:
            return mean
        if not isinstance(at, Mapping):
            found = np.asarray(at, np.float64)
            if found.shape != mean.shape:
                raise errors.ShapeError(f"at has the shape {found.shape}, not a value for each of the {len(mean)} inputs")
            return found
        place, inputs = mean.copy(), list(enumerate(self.input_names))
        levels = {_lib.words(f.name): f for f in self._features() if f.levels}
        for name, value in at.items():
            if name in levels:
                f = levels[name]
                place[f.first : f.first + f.width] = _indicators(f, value)
            else:
                place[_chosen(inputs, name)] = _number(f"at: {name}", value)
        return place

    # ---- proofs ----

    def certify(self, **options: Any) -> Certificate:
        """A `Certificate`. options: seconds (for branch and bound, 20), gap, starts, seed,
        exceeds (is |f| ever above this level? see `Bound.answer`), box_low, box_high
        (far_certify_opts of farfield/certify.h)."""
        opts = _lib.Options("far_certify_opts", **options)
        c = _lib.make(
            lib.far_predictor_certify,
            self._predictor,
            opts.pointer,
            destroy=lib.far_certificate_destroy,
        )
        return Certificate._of(c, opts.pointer.exceeds)

    def check(self, certificate: Certificate | str | os.PathLike[str]) -> None:
        """`Certificate.check`, of the path of a certificate or of its JSON too."""
        text = certificate.json if isinstance(certificate, Certificate) else _json_of(certificate)
        _lib.call(lib.far_certificate_check, self._predictor, _lib.c_text(text))

    def empirical_ntk(
        self, x1: Any, x2: Any = None, outputs: str = "trace", output: int = 0
    ) -> np.ndarray:
        """The tangent kernel J(x1) J(x2)' of a finite network, n x m: the mean over its outputs
        ("trace"), that of one ("one"), or all pairs ("full", (n outputs) x (m outputs)). Points
        are in raw units, and the kernel is that of the network behind them."""
        net = lib.far_predictor_net(self._predictor)
        if not net:
            raise errors.ArgError(f"a predictor that is {self.kind} has no tangent kernel")
        if self._without:
            raise errors.ArchError(
                f"the tangent kernel would count {', '.join(self._without)}, which the language has "
                "and the module has not, or has once for several layers"
            )
        opts = _lib.Options("far_ntk_opts", outputs=outputs, output=output)
        x1, x2 = self._inputs(x1), None if x2 is None else self._inputs(x2)
        each = lib.far_net_describe(net).outputs if outputs == "full" else 1
        out = np.empty((each * len(x1), each * len(x1 if x2 is None else x2)))
        views = (_lib.view(x1), _lib.view(x2), opts.pointer, _lib.view(out))
        _lib.call(lib.far_net_ntk, net, *views)
        return out

    def to_torch(self) -> Any:
        """A finite network, or a committee of them, as a torch.nn.Module in float64: the same function of points (m x inputs,
        raw units), m x outputs, with its columns' scaling as layers, weights copied and trainable.
        Before it is returned it is held against the network at random points."""
        from ._to_torch import Mean, to_torch

        return Mean([m.to_torch() for m in self.members]) if self.members else to_torch(self)

    def _inputs(self, table: Any) -> np.ndarray:
        """Rows of a table as the network takes them."""
        return self._encoded(self._frame(table))

    def _encoded(self, frame: Any) -> np.ndarray:
        out = np.empty((lib.far_frame_rows(frame), self._info.inputs))
        columns = self._info.columns
        _lib.call(lib.far_columns_encode, columns, frame, ffi.NULL, _lib.view(out))
        return out


def _is_table(x: Any) -> bool:
    """Whether x has columns with names, or is columns that are ready."""
    return hasattr(x, "table") or _frame.is_frame(x)


def _put_exactly(points: np.ndarray, feature: Any, frame: Any) -> None:
    """What scaling to and fro has rounded: indicators, and the numbers that stand in the frame."""
    first = feature.first
    if feature.levels:
        points[:, first : first + feature.width] = np.round(points[:, first : first + feature.width])
        return
    index = ffi.new("int64_t *")
    _lib.call(lib.far_frame_find, frame, feature.name, index)
    column = lib.far_frame_column(frame, index[0])
    if column.numbers and len(points):
        numbers = np.frombuffer(ffi.buffer(column.numbers, 8 * len(points)), np.float64)
        points[:, first] = np.where(np.isnan(numbers), points[:, first], numbers)


def _json_of(certificate: str | os.PathLike[str]) -> str:
    """Of a text that is JSON itself, else of the file of that name."""
    if isinstance(certificate, str) and certificate.lstrip().startswith("{"):
        return certificate
    try:
        with open(certificate, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        why = error.strerror or error
        raise errors.FileError(f"{certificate}: the certificate cannot be read: {why}") from None
    except (TypeError, ValueError):
        raise errors.ArgError("a certificate is a Certificate, its JSON, or the path of that") from None


def _standing(inputs: list[tuple[str, float]], means: bool) -> str:
    """Where inputs stand that do not move."""
    shown = ", ".join(f"{name} = {value:.4g}" for name, value in inputs[:6])
    more = ", ..." if len(inputs) > 6 else ""
    return ("the other inputs at their means: " if means else "at ") + shown + more


def _number(name: str, value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = np.nan
    if not np.isfinite(found):
        raise errors.ArgError(f"{name} is a finite number, not {value!r}")
    return found


def _above_zero(name: str, value: Any) -> float:
    found = _number(name, value)
    if found <= 0:
        raise errors.ArgError(f"{name} is above 0, not {value!r}")
    return found


def _indicators(feature: Any, value: Any) -> list[float]:
    """The inputs of a categorical feature where it has this value."""
    levels = [_lib.words(feature.levels[k]) for k in range(feature.width)]
    if str(value) not in levels:
        name = _lib.words(feature.name)
        raise errors.ArgError(f"at: {name} has no category {value!r}; there are {', '.join(levels[:20])}")
    return [float(level == str(value)) for level in levels]


def _chosen(known: list[tuple[int, str]], wanted: Any, what: str = "input") -> int:
    """The input of that name, or the one that the number counts to."""
    if not isinstance(wanted, str):
        place = _lib.whole(f"the number of an {what}", wanted, -len(known))
        if place >= len(known):
            raise errors.ArgError(f"there is no {what} {wanted}: there are {len(known)}, from 0")
        return known[place][0]
    for i, name in known:
        if name == wanted:
            return i
    names = ", ".join(name for _, name in known[:20])
    raise errors.ArgError(f"there is no {what} {wanted!r}; there are {names}")


def _unpickle(content: bytes, without: Sequence[str] = ()) -> Predictor:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "predictor")
        with open(path, "wb") as file:
            file.write(content)
        loaded = Predictor.load(path)
    loaded._without = list(without)
    return loaded


def load(path: str | os.PathLike[str], arch: str | None = None) -> Predictor:
    """`Predictor.load`: any file that Farfield writes, or safetensors of PyTorch, as a `Predictor`.

    >>> import os, tempfile
    >>> X = np.linspace(-3, 3, 20).reshape(-1, 1)
    >>> model = farfield.NTKRegressor("dense ln relu dense").fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.far"))
    ...     again = farfield.load(os.path.join(folder, "model.far"))
    >>> bool((again(X)[:, 0] == model.predict(X)).all())
    True
    """
    return Predictor.load(path, arch)


def predictor(subject: Any, **how: Any) -> Predictor:
    """The predictor of a path, an estimator that was fitted, or a module of PyTorch."""
    if isinstance(subject, Predictor):
        return subject
    if isinstance(subject, (str, os.PathLike)):
        return Predictor.load(subject, **how)
    if hasattr(subject, "predictor_"):
        return subject.predictor_
    if hasattr(subject, "state_dict"):
        from ._torch import from_torch

        return from_torch(subject, **how)
    raise errors.ArgError(
        f"a {type(subject).__name__} is neither a file, a predictor, a fitted estimator nor a "
        "module of PyTorch"
    )


def certify(
    subject: Any, arch: str | None = None, input_shape: Any = None, **options: Any
) -> Certificate:
    """Can it run away, and how far can it go? A `Certificate`, for every input.

    subject: the path of a model or network (arch: of a file that does not name it), a fitted
    estimator, a `Predictor`, or a torch.nn.Module (input_shape: as for `from_torch`).
    options: as `Predictor.certify`.

    >>> X = np.linspace(-3, 3, 20).reshape(-1, 1)
    >>> model = farfield.NTKRegressor("dense ln relu dense").fit(X, X[:, 0])
    >>> farfield.certify(model, seconds=0).bounded
    True
    """
    how = {"arch": arch, "input_shape": input_shape}
    how = {name: value for name, value in how.items() if value is not None}
    return predictor(subject, **how).certify(**options)


def empirical_ntk(
    subject: Any, x1: Any, x2: Any = None, outputs: str = "trace", output: int = 0, **how: Any
) -> np.ndarray:
    """The tangent kernel of a finite network, n x m for points n x inputs and m x inputs: a path, an
    estimator or a module of PyTorch, as for `certify`. See `Predictor.empirical_ntk`.

    >>> X = np.linspace(-3, 3, 20).reshape(-1, 1)
    >>> net = farfield.NetworkRegressor("dense(8) relu dense", epochs=5).fit(X, X[:, 0])
    >>> farfield.empirical_ntk(net, X[:4], X[:3]).shape
    (4, 3)
    """
    return predictor(subject, **how).empirical_ntk(x1, x2, outputs, output)
