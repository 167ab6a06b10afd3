"""Whatever was fitted, trained or loaded, asked in one way."""
import os
import tempfile
from typing import NamedTuple

import numpy as np

from . import _frame, _lib, errors
from ._certificate import Certificate
from ._lib import ffi, lib


class Prediction(NamedTuple):
    """Rows of a table as predicted; what does not apply is None."""

    mean: np.ndarray  # rows x outputs, in the units of the targets; of classes their scores
    std: np.ndarray | None
    probability: np.ndarray | None  # rows x classes
    order: np.ndarray | None  # at infinity


class Metric(NamedTuple):
    """The linear map that inputs go through before the network sees them."""

    kind: str  # "diagonal" or "full"
    rank: int
    map: np.ndarray  # of standardised inputs: inputs x 1, or inputs x inputs
    importance: np.ndarray  # of each input, sum 1


class Predictor:
    """A model of infinite width, a network, a linear model, trees, or a committee of them.
    Made by `load`, `from_torch`, and the `predictor_` of an estimator. It pickles."""

    def __init__(self, pointer, *kept):
        self._predictor, self._kept = pointer, kept

    # ---- files ----

    @classmethod
    def load(cls, path, arch=None):
        """Any file that Farfield writes, or safetensors of PyTorch (arch: of a network whose file
        does not name it)."""
        return cls(
            _lib.make(
                lib.far_predictor_load,
                os.fsencode(path),
                ffi.NULL if arch is None else str(arch).encode(),
                destroy=lib.far_predictor_destroy,
            )
        )

    def save(self, path):
        """To a file, which `farfield.load` and the command read."""
        _lib.call(lib.far_predictor_save, self._predictor, os.fsencode(path))

    def __reduce__(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "predictor")
            self.save(path)
            with open(path, "rb") as file:
                return _unpickle, (file.read(),)

    # ---- what it is ----

    @property
    def _info(self):
        return lib.far_predictor_describe(self._predictor)

    @property
    def kind(self):
        """"infinite", "finite", "linear", "trees" or "committee"."""
        return _lib.text(self._info.name)

    @property
    def arch(self):
        """The network, None if it is none."""
        return _lib.text(self._info.arch)

    @property
    def ridge(self):
        """Relative to the mean diagonal of the kernel; NaN: there is none."""
        return self._info.ridge

    @property
    def metric(self):
        """The `Metric` in front of a network of infinite width; None: there is none."""
        model = lib.far_predictor_model(self._predictor)
        if not model or model.metric.kind == lib.FAR_METRIC_NONE:
            return None
        m = model.metric
        kind = "diagonal" if m.kind == lib.FAR_METRIC_DIAGONAL else "full"
        return Metric(kind, m.rank, _lib.copy(m.map), _lib.copy(m.importance)[:, 0])

    @property
    def input_names(self):
        """Of the numbers that it takes: columns, and "kind=red" of categories."""
        c = lib.far_columns_describe(self._info.columns)
        return [_lib.text(c.input_names[i]) for i in range(c.inputs)]

    @property
    def output_names(self):
        c = lib.far_columns_describe(self._info.columns)
        return [_lib.text(c.output_names[i]) for i in range(c.outputs)]

    @property
    def class_names(self):
        """Of a classifier, else []."""
        c = lib.far_columns_describe(self._info.columns)
        return [_lib.text(c.class_names[i]) for i in range(c.classes)]

    def __repr__(self):
        return f"<farfield.Predictor {self.kind}" + (f", {self.arch}>" if self.arch else ">")

    # ---- values ----

    def __call__(self, x):
        """f(x), m x outputs, of points m x inputs in raw units."""
        x = _lib.array(x).astype(np.float64, copy=False)
        out = np.empty((len(x), self._info.outputs))
        _lib.call(lib.far_predictor_eval, self._predictor, _lib.view(x), _lib.view(out))
        return out

    def limit(self, u):
        """(value, order), each m x outputs: f(t u_i) ~ value t ** order as t grows."""
        u = _lib.array(u, "u").astype(np.float64, copy=False)
        out = [np.empty((len(u), self._info.outputs)) for _ in range(2)]
        _lib.call(lib.far_predictor_limit, self._predictor, _lib.view(u), *map(_lib.view, out))
        return tuple(out)

    def predict(self, table, spread=None, **options):
        """The rows of a table (a data frame, by the names of its columns, or a matrix): a
        `Prediction`. spread: "calibrated", "posterior", "ensemble" or "likelihood"; options: time,
        steps, rate, at_infinity, memory (far_predict_opts)."""
        frame = self._frame(table)
        opts = _lib.Options("far_predict_opts", spread=spread, **options)
        p = _lib.make(
            lib.far_predictor_predict,
            self._predictor,
            frame,
            opts.pointer,
            destroy=lib.far_prediction_destroy,
        )
        return Prediction(*(_lib.copy(m) for m in (p.mean, p.std, p.probability, p.order)))

    def importance(self, x, y, repeats=10, seed=0):
        """(score, lost): R2 or accuracy on the points x with targets y (of classes: indicators),
        and how much of it is lost when each feature is shuffled."""
        x, y = (_lib.array(a).astype(np.float64, copy=False) for a in (x, y))
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

    def rows(self):
        """(x, y): the rows that it was fitted to, raw; those of infinite width keep them."""
        info = self._info
        x, y = (np.empty((max(info.rows, 0), n)) for n in (info.inputs, info.outputs))
        _lib.call(lib.far_predictor_rows, self._predictor, _lib.view(x), _lib.view(y))
        return x, y

    def _frame(self, table):
        names = None
        if hasattr(table, "table"):  # columns that are ready
            return _frame.frame(table.table)
        if not _frame.is_frame(table):
            columns = lib.far_columns_describe(self._info.columns)
            if columns.named:
                count = columns.features
                features = (lib.far_columns_feature(self._info.columns, i) for i in range(count))
                names = [_lib.text(f.name) for f in features]
                width = _lib.as_numpy(table).shape[-1]
                if width != count:
                    raise errors.ShapeError(f"the table has {width} columns, not {count}")
        return _frame.frame(_frame.columns(table, names))

    # ---- proofs ----

    def certify(self, **options):
        """A `Certificate`. options: seconds (for branch and bound, 20), gap, starts, seed,
        exceeds, box_low, box_high (far_certify_opts of farfield/certify.h)."""
        opts = _lib.Options("far_certify_opts", **options)
        c = _lib.make(
            lib.far_predictor_certify,
            self._predictor,
            opts.pointer,
            destroy=lib.far_certificate_destroy,
        )
        return Certificate._of(c)

    def check(self, certificate):
        """`Certificate.check`."""
        text = certificate.json if isinstance(certificate, Certificate) else str(certificate)
        _lib.call(lib.far_certificate_check, self._predictor, text.encode())

    def empirical_ntk(self, x1, x2=None, outputs="trace", output=0):
        """The tangent kernel J(x1) J(x2)' of a finite network, n x m: the mean over its outputs
        ("trace"), that of one ("one"), or all pairs ("full", (n outputs) x (m outputs)). Points
        are in raw units, and the kernel is that of the network behind them."""
        net = lib.far_predictor_net(self._predictor)
        if not net:
            raise errors.ArgError(f"a predictor that is {self.kind} has no tangent kernel")
        opts = _lib.Options("far_ntk_opts", outputs=outputs, output=output)
        x1, x2 = self._inputs(x1), None if x2 is None else self._inputs(x2)
        each = lib.far_net_describe(net).outputs if outputs == "full" else 1
        out = np.empty((each * len(x1), each * len(x1 if x2 is None else x2)))
        views = (_lib.view(x1), _lib.view(x2), opts.pointer, _lib.view(out))
        _lib.call(lib.far_net_ntk, net, *views)
        return out

    def _inputs(self, table):
        """Rows of a table as the network takes them."""
        frame = self._frame(table)
        out = np.empty((lib.far_frame_rows(frame), self._info.inputs))
        columns = self._info.columns
        _lib.call(lib.far_columns_encode, columns, frame, ffi.NULL, _lib.view(out))
        return out


def _unpickle(content):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "predictor")
        with open(path, "wb") as file:
            file.write(content)
        return Predictor.load(path)


def load(path, arch=None):
    """`Predictor.load`."""
    return Predictor.load(path, arch)


def predictor(subject, **how):
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


def certify(subject, arch=None, input_shape=None, **options):
    """Can it run away, and how far can it go? A `Certificate`, for every input.

    subject: the path of a model or network (arch: of a file that does not name it), a fitted
    estimator, a `Predictor`, or a torch.nn.Sequential (input_shape: of images, (C, H, W)).
    options: as `Predictor.certify`.
    """
    how = {"arch": arch, "input_shape": input_shape}
    how = {name: value for name, value in how.items() if value is not None}
    return predictor(subject, **how).certify(**options)


def empirical_ntk(subject, x1, x2=None, outputs="trace", output=0, **how):
    """The tangent kernel of a finite network: a path, an estimator or a module of PyTorch, as for
    `certify`. See `Predictor.empirical_ntk`."""
    return predictor(subject, **how).empirical_ntk(x1, x2, outputs, output)

