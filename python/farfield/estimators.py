"""Estimators of scikit-learn: NTKRegressor and NTKClassifier are networks of infinite width, fitted
exactly; NetworkRegressor and NetworkClassifier are finite ones, trained by gradient descent."""
from __future__ import annotations

import contextlib
import copy
import os
import types
import warnings
from typing import Any, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_array, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "farfield's estimators need scikit-learn >= 1.6: pip install 'farfield[sklearn]'"
    ) from error

from . import _fit, _frame, _lib, _sample, errors
from ._certificate import Certificate
from ._figure import Figure
from ._frame import Column
from ._lib import lib
from ._predictor import Metric, Predictor


LEAST_ROWS = 3  # as of the command


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What the four share. Parameters named in `_passed` are options of the library by name."""

    _passed: tuple[str, ...]
    predictor_: Predictor
    _importances: tuple[Predictor, int, np.ndarray]

    def _table(self, X: Any, reset: bool) -> list[Column]:
        """X as columns, checked against the ones that were fitted."""
        X = _readable(X)
        if _frame.is_frame(X) and not self._is_matrix(X):
            return self._named(X, reset)
        kept = getattr(getattr(X, "dtype", None), "kind", "-") in "mM"  # dates stay dates
        dtype = None if kept else np.float64
        if _frame.has_words(X):  # the library looks at its values
            X, dtype = (np.asarray(X, object) if isinstance(X, list) else X), None
        X = validate_data(self, X, reset=reset, dtype=dtype, ensure_all_finite=False)
        if dtype is not None:
            _refuse_gaps("X", X, list(self._names()), missing=not self.impute)
        return _frame.columns(X, list(self._names()))

    def _names(self) -> Sequence[str]:
        """Of the columns: x1, x2, ... of a matrix."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j + 1}" for j in range(self.n_features_in_)] if names is None else names

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """What was fitted before stays, all of it, if a fit does not come to its end."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _is_matrix(self, X: Any) -> bool:
        """Whether a frame of pandas is numbers alone, and none may be missing."""
        numbers = _frame.is_pandas(X) and len(X.columns) and all(map(_numeric, X.dtypes))
        return bool(numbers) and not self.impute

    def _named(self, X: Any, reset: bool) -> list[Column]:
        """The columns of a frame, their names and number checked as validate_data has it of matrices."""
        table = _frame.columns(X)
        names = [c.name for c in table]
        if not table or not len(table[0]):
            rows = len(X) if hasattr(X, "__len__") else 0
            raise ValueError(
                f"Found array with {rows} sample(s) and {len(table)} feature(s) while a minimum of 1 "
                "is required."
            )
        if reset:
            self.feature_names_in_ = np.array(names, object)
            self.n_features_in_ = len(names)
        elif names != list(getattr(self, "feature_names_in_", names)):
            _refuse_names(names, list(self.feature_names_in_))
        elif len(names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(names)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        elif not hasattr(self, "feature_names_in_"):
            _frame.take_by_place(table, type(self).__name__)
        return table

    def _learn(
        self, X: Any, y: np.ndarray, names: Sequence[str], task: str, labels: Any = None
    ) -> None:
        table = self._table(X, reset=True)
        if len(table[0]) != len(y):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"[{len(table[0])}, {len(y)}]"
            )
        if len(y) < LEAST_ROWS:
            count = f"{len(y)} sample" + ("s" if len(y) != 1 else "")
            raise ValueError(f"{count}: too few to learn from, {LEAST_ROWS} are the least")
        taken: set[str] = set()
        for c in table:
            if c.name in taken:
                raise ValueError(f"two columns have the same name, {c.name!r}")
            taken.add(c.name)
        targets = [_free_name(name, taken) for name in names]
        if labels is None:
            table += [Column.of_values(t, y[:, k]) for k, t in enumerate(targets)]
        else:
            table.append(Column.of_labels(targets[0], labels))
        self._fit_table(table, targets, task)
        if self.careful:
            _warn_of_left_out(self.predictor_)

    def _fit_table(self, table: list[Column], targets: list[str], task: str) -> None:
        raise NotImplementedError

    def _options(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in self._passed}
        found["keep"] = _list_of_columns("keep", found["keep"])
        return found

    def certify(self, **options: Any) -> Certificate:
        """A `farfield.Certificate`: whether f is bounded over all inputs, and by what. options:
        seconds, gap, starts, seed, exceeds, box_low, box_high."""
        check_is_fitted(self)
        return self.predictor_.certify(**options)

    def limit(self, U: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """(value, order), each m x outputs: where f goes along the directions U (m x inputs, see
        `predictor_.input_names`), f(t u) ~ value t ** order. `predictor_.predict(U,
        at_infinity=True)` takes directions of features, in a data frame too."""
        check_is_fitted(self)
        return self.predictor_.limit(U)

    def gradient(self, X: Any) -> np.ndarray:
        """df/dx at the points X (m x inputs, raw, see `predictor_.input_names`; or rows of a data
        frame): m x outputs x inputs; of classes, of scores."""
        check_is_fitted(self)
        if _frame.is_frame(X) or _frame.has_words(X):
            X = _Columns(self._table(X, reset=False))
        return self.predictor_.gradient(X)

    def plot(self, feature: int | str = 0, **options: Any) -> Figure:
        """A `farfield.Figure` of f along one feature, see `farfield.Predictor.plot`."""
        check_is_fitted(self)
        return self.predictor_.plot(feature, **{"rows": self._training_rows(), **options})

    def save(self, path: str | os.PathLike[str]) -> None:
        """The model as a file for the command and `farfield.load`."""
        check_is_fitted(self)
        self.predictor_.save(path)

    @property
    def feature_importances_(self) -> np.ndarray:
        """What of the score (R2, or accuracy) on the training rows is lost when a feature is
        shuffled among them: n_features_in_ values, 0 for one that was left out (careful). Worked out
        once, when they are first asked for."""
        check_is_fitted(self)
        if not self._has_importances():
            lost = self.predictor_.importance(*self._training_rows(), seed=self.seed)[1]
            found = dict(zip(self.predictor_.features, lost))
            values = np.array([found.get(name, 0.0) for name in self._names()])
            self._importances = (self.predictor_, self.seed, values)
        return self._importances[2].copy()

    def _has_importances(self) -> bool:
        """Whether those of this very fit are known."""
        of, seed, _ = getattr(self, "_importances", (None, None, None))
        return of is self.predictor_ and seed == self.seed

    def _get_fitted_attr_html(self, *where: Any) -> Any:
        """What scikit-learn shows of a fit in a notebook: every attribute, but importances only where
        they are known, since to work them out takes a while."""
        shown = copy.copy(self)
        if not self._has_importances():
            shown._importances = (self.predictor_, self.seed, np.empty(0))
        found = super(_Estimator, shown)._get_fitted_attr_html(*where)
        if not self._has_importances():
            found.pop("feature_importances_", None)
        return found

    def _training_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Raw inputs and targets (of classes: indicators) that the model was fitted to."""
        return self.predictor_.rows()

    def _prediction(self, X: Any, **options: Any) -> Any:
        check_is_fitted(self)
        return self.predictor_.predict(_Columns(self._table(X, reset=False)), **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(self.impute)
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class _Columns:
    """Columns that are ready, where a data frame may stand."""

    def __init__(self, table: list[Column]) -> None:
        self.table = table


def _list_of_columns(name: str, columns: Any) -> str | None:
    """As the library reads it: a text stays as it is, names may hold commas."""
    if columns is None or isinstance(columns, str):
        return columns
    try:
        names = list(columns)
    except TypeError:
        raise errors.ArgError(f"{name} is a list of names of columns, not {columns!r}") from None
    return _frame.listed([_lib.as_text(f"a name in {name}", one) for one in names]) or None


def _readable(X: Any) -> Any:
    """Arrays that scikit-learn does not read, or reads without their mask, as NumPy's."""
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        raise errors.ArgError(f"a {type(X).__name__} holds no rows yet: collect() it first")
    foreign = hasattr(X, "detach") or (hasattr(X, "__dlpack__") and not hasattr(X, "__array__"))
    return _lib.as_numpy(X) if foreign or isinstance(X, np.ma.MaskedArray) else X


def _refuse_gaps(what: str, x: np.ndarray, names: list[str], missing: bool = True) -> None:
    """Values that are no numbers, by their places; rows count from 1, as in the library's messages."""
    bad = ~np.isfinite(x) if missing else np.isinf(x)
    if not bad.any():
        return
    i, j = np.unravel_index(np.argmax(bad), bad.shape)
    if np.isnan(x[i, j]):
        more = ", or fit with impute=True" if what == "X" else ""
        raise errors.DataError(
            f"Input {what} contains NaN: row {i + 1}: column {names[j]} has no value; fill the gap, or "
            f"leave the row out{more}"
        )
    raise errors.DataError(
        f"Input {what} contains infinity: row {i + 1}: column {names[j]} is {x[i, j]}; values are finite"
    )


_WHY_LEFT_OUT = {
    lib.FAR_TAKEN_CONSTANT: "the same value in every row",
    lib.FAR_TAKEN_IDENTIFIER: "looks like an identifier, another value in every row",
    lib.FAR_TAKEN_TEXT: "text",
}


def _warn_of_left_out(predictor: Predictor) -> None:
    columns = predictor._info.columns
    for i in range(lib.far_columns_describe(columns).summaries):
        column = lib.far_columns_summary(columns, i)
        if column.role == lib.FAR_ROLE_LEFT_OUT:
            name, why = _lib.words(column.name), _WHY_LEFT_OUT.get(column.taken, "no values")
            warnings.warn(
                f"column {name} is left out: {why} (keep=[{name!r}] keeps it)",
                UserWarning,
                stacklevel=_lib.outside(),
            )


def _warn_of_residuals(predictor: Predictor) -> None:
    """Of conjugate gradients that came to no end: what they left is not the fit."""
    models = [lib.far_predictor_model(p._predictor) for p in predictor.members or [predictor]]
    open_ends = [m for m in models if m and not m.converged]
    if open_ends:
        worst = max(open_ends, key=lambda m: m.residual)
        warnings.warn(
            f"conjugate gradients did not converge: the residual |y - (K + ridge I) alpha| / |y| is "
            f"{worst.residual:.2g}, not {worst.tolerance:.2g} (tolerance), and predictions may be far "
            'from those of the fit; take a larger ridge, more landmarks, or method="exact"',
            ConvergenceWarning,
            stacklevel=_lib.outside(),
        )


def _is_dated(values: Any) -> bool:
    dtype = getattr(values, "dtype", None)
    return getattr(dtype, "kind", "") in ("m", "M") or getattr(dtype, "tz", None) is not None


def _dates_as_days(y: Any) -> Any:
    """Targets that are dates as days since 1970-01-01, which the command makes of them."""
    if _frame.is_pandas(y):
        columns = [y.iloc[:, j] for j in range(len(y.columns))]
    elif getattr(y, "ndim", 0) == 2 and _is_dated(y):
        columns = list(np.asarray(y).T)
    else:
        return Column.of_values("y", y).numbers if _is_dated(y) else y
    if not any(map(_is_dated, columns)):
        return y
    days: list[Any] = [Column.of_values("y", c).numbers if _is_dated(c) else c for c in columns]
    return np.column_stack(days)


def _numeric(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def _refuse_names(names: list[str], fitted: list[str]) -> None:
    unseen = [n for n in names if n not in fitted]
    lost = [n for n in fitted if n not in names]
    lines = ["The feature names should match those that were passed during fit."]
    lines += ["Feature names unseen at fit time:", *(f"- {n}" for n in unseen)] if unseen else []
    if lost:
        lines += ["Feature names seen at fit time, yet now missing:", *(f"- {n}" for n in lost)]
    if not unseen and not lost:
        lines.append("Feature names must be in the same order as they were in fit.")
    raise ValueError("\n".join(lines) + "\n")


def _class_name(label: Any) -> str:
    """As it prints; in quotes where a table would have it for a missing value or other blanks."""
    word = str(label)
    missing = ("", "?", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
    return repr(word) if word.lower() in missing or word != word.strip() else word


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _target_names(y: Any) -> list[str]:
    """Of a series or data frame its own; else y, or y1, y2, ..."""
    if hasattr(y, "columns"):
        return [str(c) for c in y.columns]
    name = getattr(y, "name", None)
    if isinstance(name, str) and name:
        return [name]
    shape = np.asarray(y).shape
    width = shape[1] if len(shape) == 2 else 1
    return ["y"] if width == 1 else [f"y{k + 1}" for k in range(width)]


def _refuse_labels(y: Any, classifier: str) -> None:
    """Targets that are texts, and no numbers."""
    values = np.asarray(y)
    if values.dtype.kind not in "OUT" or values.ndim == 0:
        return
    for i, row in enumerate(values.reshape(len(values), -1)):
        for value in row:
            if isinstance(value, str) and not _reads_as_number(value):
                raise errors.DataError(
                    f"y holds texts, as {str(value)!r} in row {i + 1}, and a regressor learns numbers: "
                    f"{classifier} learns classes"
                )


def _reads_as_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


class _Regressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    _classifier: str

    def fit(self, X: Any, y: Any) -> Any:
        """X n x d, or a data frame; y n, or n x outputs. Returns the estimator."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = _readable(y)
        names = _target_names(y)
        _refuse_labels(y, self._classifier)
        y = check_array(
            _dates_as_days(y), ensure_2d=False, dtype=np.float64, input_name="y", ensure_all_finite=False
        )
        table = y.reshape(len(y), -1)
        _refuse_gaps("y", table, names)
        with self._all_or_nothing():
            self._flat = y.ndim == 1
            self._learn(X, table, names, "regress")
        return self

    def _shape(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if self._flat else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


class _Classifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    classes_: np.ndarray

    def fit(self, X: Any, y: Any) -> Any:
        """X n x d, or a data frame; y: n labels of any kind. Returns the estimator."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = _readable(y)
        names = _target_names(y)
        y = _labels(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError("y has one class, and a classifier needs at least two")
        labels = np.array([_class_name(label) for label in classes], object)
        if len(set(labels)) < len(labels):
            raise ValueError("two classes of y print the same")
        with self._all_or_nothing():
            self.classes_ = classes
            self._learn(X, y, names, "classify", labels[np.searchsorted(classes, y)])
            order = {name: k for k, name in enumerate(self.predictor_.class_names)}
            self._order = np.array([order[label] for label in labels])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities, n x classes in the order of classes_."""
        return self._prediction(X).probability[:, self._order]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of predict_proba; of 0 they are -inf."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row: n labels."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[likeliest]


def _labels(y: Any) -> np.ndarray:
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected.",
            DataConversionWarning,
            stacklevel=_lib.outside(),
        )
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    missing = [i for i, label in enumerate(y) if _frame.is_missing(label)] if y.dtype == object else []
    if missing:
        raise errors.DataError(f"Input y contains NaN: row {missing[0] + 1} has no label")
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    check_classification_targets(y)
    return y


class _Named:
    """Classes whose __init__ goes by their own names, in what Python says of its arguments."""

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        init = getattr(cls, "__init__")
        if isinstance(init, types.FunctionType) and "__init__" not in vars(cls):
            named = types.FunctionType(
                init.__code__, init.__globals__, "__init__", init.__defaults__, init.__closure__
            )
            named.__kwdefaults__, named.__annotations__ = init.__kwdefaults__, init.__annotations__
            named.__qualname__ = f"{cls.__name__}.__init__"
            setattr(cls, "__init__", named)


class _Infinite(_Named):
    """How networks of infinite width are fitted."""

    _passed: tuple[str, ...] = (
        "arch", "kernel", "param", "ridge", "ridge_kind", "metric", "method", "landmarks",
        "tolerance", "criterion", "committee", "ranks", "copies", "standardize", "impute", "subset",
        "seed", "memory", "storage", "allow_unbounded", "extremes", "careful", "keep",
    )  # fmt: skip

    def __init__(
        self, arch: str = "auto", *, kernel: str | None = None, param: str | None = None,
        ridge: float | None = None, ridge_kind: str | None = None, metric: str | None = None,
        method: str | None = None, landmarks: int | None = None, tolerance: float | None = None,
        criterion: str | None = None, committee: int | None = None, ranks: str | None = None,
        copies: str | None = None, standardize: bool = True, impute: bool = False,
        subset: int | None = None, seed: int = 0, memory: float | None = None,
        storage: str | None = None, allow_unbounded: bool = False,
        extremes: int | None = None, careful: bool = False, keep: str | Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        self.arch = arch
        self.kernel = kernel
        self.param = param
        self.ridge = ridge
        self.ridge_kind = ridge_kind
        self.metric = metric
        self.method = method
        self.landmarks = landmarks
        self.tolerance = tolerance
        self.criterion = criterion
        self.committee = committee
        self.ranks = ranks
        self.copies = copies
        self.standardize = standardize
        self.impute = impute
        self.subset = subset
        self.seed = seed
        self.memory = memory
        self.storage = storage
        self.allow_unbounded = allow_unbounded
        self.extremes = extremes
        self.careful = careful
        self.keep = keep

    def _fit_table(self, table: list[Column], targets: list[str], task: str) -> None:
        if self.landmarks is not None:  # type: ignore[attr-defined]
            _lib.whole("landmarks", self.landmarks, 1)  # type: ignore[attr-defined]
        self.predictor_ = _fit.fit_infinite(table, targets, task=task, **self._options())  # type: ignore[attr-defined]
        _warn_of_residuals(self.predictor_)
        self.arch_, self.ridge_ = self.predictor_.arch, self.predictor_.ridge
        self.metric_: Metric | None = self.predictor_.metric


class NTKRegressor(_Infinite, _Regressor):
    """Regression by an infinitely wide network, exact: f(x) = sum_i alpha_i K(x, x_i).

    arch: the network, or "auto", which chooses among networks that cannot run away. kernel: "ntk"
    (all weights are trained) or "nngp" (the Bayesian posterior). ridge: relative to the mean
    diagonal (ridge_kind "absolute": not); None chooses it by leave-one-out error. metric: "diagonal"
    or "full" learns a linear map in front of the network. committee: the mean of so many of the
    networks that were tried; 0: of as many as predict rows held out better together. ranks: "steps"
    adds steps of each number's rank, for jumps; None takes them where they predict rows held out
    better (200 to 20000 rows, arch "auto"). copies: "drop" lets one of several equal rows count
    while a network is chosen. method: "exact", "cg" or "nystrom"; None is exact where the memory
    allows it, else cg. careful: columns that look useless are left out, and warned of, but for the
    names in keep. The other parameters are fields of far_fit_opts (farfield/model.h); None is
    the default of the command.

    Conjugate gradients ("cg") raise a ridge that was chosen until they converge. Where they do not
    reach the tolerance with a ridge that was given, scikit-learn's ConvergenceWarning says so.

    After fit: predictor_, arch_, ridge_ (relative to the mean diagonal; with cg as raised), metric_,
    n_features_in_, feature_names_in_ and feature_importances_.

    >>> X = np.linspace(-3, 3, 40).reshape(-1, 1)
    >>> model = farfield.NTKRegressor("dense ln relu dense").fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict([[0.5], [100.0]], return_std=True)
    >>> mean.shape, model.certify().bounded
    ((2,), True)
    """

    _classifier = "NTKClassifier"

    def predict(self, X: Any, return_std: bool = False, spread: str = "calibrated") -> Any:
        """Means, n or n x outputs; with return_std also standard deviations of new observations
        (spread: "calibrated", "posterior", "ensemble" or "likelihood")."""
        _lib.Options("far_predict_opts", spread=spread)  # a mistake there shows without return_std too
        found = self._prediction(X, spread=spread if return_std else None)
        mean = self._shape(found.mean)
        return (mean, self._shape(found.std)) if return_std else mean

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, spread: str = "calibrated"
    ) -> np.ndarray:
        """Draws, jointly over the rows of X: n x n_samples, or n x outputs x n_samples. spread: new
        observations ("calibrated"), the function itself ("posterior", of amplitude one), or
        trained networks of infinite width ("ensemble"). Their standard deviations are predict's.

        >>> X = np.linspace(-3, 3, 40).reshape(-1, 1)
        >>> model = farfield.NTKRegressor("dense ln relu dense").fit(X, np.sin(X[:, 0]))
        >>> model.sample_y([[0.0], [50.0]], n_samples=100).shape
        (2, 100)
        """
        check_is_fitted(self)
        table = _Columns(self._table(X, reset=False))
        rng = check_random_state(random_state)
        drawn = _sample.draw(self.predictor_, table, n_samples, rng, spread)
        return drawn[:, 0] if self._flat else drawn


class NTKClassifier(_Infinite, _Classifier):
    """Classification by an infinitely wide network, with calibrated probabilities. Parameters as
    those of `NTKRegressor`; after fit also classes_.

    >>> X = np.linspace(-3, 3, 40).reshape(-1, 1)
    >>> model = farfield.NTKClassifier("dense ln relu dense").fit(X, X[:, 0] > 0)
    >>> model.predict([[-2.0], [2.0]])
    array([False,  True])
    >>> model.predict_proba([[-2.0], [2.0]]).shape
    (2, 2)
    """


class _Finite(_Named):
    """How finite networks are trained."""

    _passed: tuple[str, ...] = (
        "optimizer", "lr", "epochs", "batch", "weight_decay", "momentum", "l2_to_init", "patience",
        "stop_loss", "linearized", "dtype", "augment", "init", "seed", "standardize", "impute",
        "careful", "keep",
    )  # fmt: skip
    _loss = ""

    def __init__(
        self, arch: str = "dense(64) ln relu dense(64) ln relu dense", *, committee: int = 1,
        optimizer: str | None = None, lr: float | None = None, epochs: int | None = None,
        batch: int | None = None, weight_decay: float | None = None,
        momentum: float | None = None, l2_to_init: float | None = None,
        validation: float | None = None, patience: int | None = None,
        stop_loss: float | None = None, linearized: bool = False, dtype: str | None = None,
        augment: str | None = None, init: str | None = None, seed: int = 0,
        standardize: str | None = None, impute: bool = False, careful: bool = False,
        keep: str | Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        self.arch = arch
        self.committee = committee
        self.optimizer = optimizer
        self.lr = lr
        self.epochs = epochs
        self.batch = batch
        self.weight_decay = weight_decay
        self.momentum = momentum
        self.l2_to_init = l2_to_init
        self.validation = validation
        self.patience = patience
        self.stop_loss = stop_loss
        self.linearized = linearized
        self.dtype = dtype
        self.augment = augment
        self.init = init
        self.seed = seed
        self.standardize = standardize
        self.impute = impute
        self.careful = careful
        self.keep = keep

    def _fit_table(self, table: list[Column], targets: list[str], task: str) -> None:
        if not isinstance(self.committee, (int, np.integer)) or not self.committee >= 1:
            raise errors.ArgError(f"committee is a whole number, at least 1, not {self.committee!r}")
        if self.batch is not None:
            _lib.whole("batch", self.batch, 1)
        if self.validation is not None and not 0 <= self.validation < 1:
            raise errors.ArgError(f"validation is a part of the rows, from 0 to below 1, not {self.validation}")
        trained = _fit.train(
            table, targets, self.arch, task=task, loss=self._loss, count=self.committee,
            validation=self.validation, **self._options(),  # type: ignore[attr-defined]
        )  # fmt: skip
        self.predictor_, self.members_, self.loss_curves_ = trained[:3]
        self._rows = trained[3]
        self.arch_ = self.members_[0].arch

    def _training_rows(self) -> tuple[np.ndarray, np.ndarray]:
        return self._rows

    def empirical_ntk(self, X1: Any, X2: Any = None, outputs: str = "trace") -> np.ndarray:
        """The tangent kernel of the network (of the first member), n x m; with outputs "full" (n
        outputs) x (m outputs)."""
        check_is_fitted(self)
        return self.members_[0].empirical_ntk(X1, X2, outputs)

    def to_torch(self) -> Any:
        """The network (a committee: the mean of its members) as a torch.nn.Module in float64, which
        takes points (m x inputs, raw) and returns m x outputs; of classes logits, whose softmax is
        predict_proba."""
        check_is_fitted(self)
        return self.predictor_.to_torch()


class NetworkRegressor(_Finite, _Regressor):
    """Regression by a finite network, trained by gradient descent.

    arch: the network; its last dense layer takes its width from y. committee: the mean of so many,
    from the seeds seed, seed + 1, ... validation: the part of the rows that is kept aside, on which
    the best epoch is chosen. careful: columns that look useless are left out, and warned of, but
    for the names in keep. The other parameters are fields of far_train_opts and far_columns_opts
    (farfield/train.h, columns.h); None is the default of the command.

    After fit: predictor_, members_, loss_curves_, arch_, n_features_in_, feature_names_in_ and
    feature_importances_ (the training rows are kept for it).

    >>> X = np.linspace(-3, 3, 40).reshape(-1, 1)
    >>> model = farfield.NetworkRegressor("dense(32) ln relu dense", epochs=200).fit(X, X[:, 0])
    >>> model.certify().bounded
    True
    """

    _loss = "mse"
    _classifier = "NetworkClassifier"

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Means, n or n x outputs; with return_std also the standard deviation over the members of
        the committee."""
        if not return_std:
            return self._shape(self._prediction(X).mean)
        check_is_fitted(self)
        table = _Columns(self._table(X, reset=False))
        each = self._each(table)
        mean = self.predictor_.predict(table).mean
        return self._shape(mean), self._shape(each.std(axis=0, ddof=1))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draws from the committee: each is what one member, chosen at random, predicts for all
        rows of X: n x n_samples, or n x outputs x n_samples.

        >>> X = np.linspace(-3, 3, 40).reshape(-1, 1)
        >>> net = farfield.NetworkRegressor("dense(8) ln relu dense", epochs=20, committee=3)
        >>> net.fit(X, X[:, 0]).sample_y([[0.0], [50.0]], n_samples=100).shape
        (2, 100)
        """
        check_is_fitted(self)
        each = self._each(_Columns(self._table(X, reset=False)))
        count = _lib.whole("n_samples", n_samples, 1)
        who = check_random_state(random_state).randint(len(each), size=count)
        drawn = np.moveaxis(each[who], 0, 2)
        return drawn[:, 0] if self._flat else drawn

    def _each(self, table: _Columns) -> np.ndarray:
        """What each member predicts: members x n x outputs."""
        if len(self.members_) < 2:
            raise errors.ArgError("one network has no spread; train several: committee=5")
        return np.stack([member.predict(table).mean for member in self.members_])


class NetworkClassifier(_Finite, _Classifier):
    """Classification by a finite network with a softmax, trained by gradient descent. Parameters as
    those of `NetworkRegressor`; after fit also classes_.

    >>> X = np.linspace(-3, 3, 40).reshape(-1, 1)
    >>> model = farfield.NetworkClassifier("dense(16) ln relu dense").fit(X, X[:, 0] > 0)
    >>> model.predict([[-2.0], [2.0]])
    array([False,  True])
    """

    _loss = "ce"
