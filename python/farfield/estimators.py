"""Estimators of scikit-learn: NTKRegressor and NTKClassifier are networks of infinite width, fitted
exactly; NetworkRegressor and NetworkClassifier are finite ones, trained by gradient descent."""
import warnings

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_array, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "farfield's estimators need scikit-learn >= 1.6: pip install 'farfield[sklearn]'"
    ) from error

from . import _fit, _frame, errors


class _Estimator(BaseEstimator):
    """What the four share. Parameters named in `_passed` are options of the library by name."""

    def _is_table(self, X):
        """Whether X has columns that are not all numbers, or may have missing values."""
        return _frame.is_frame(X) and (self.impute or not all(_numeric(X[c]) for c in X.columns))

    def _table(self, X, reset):
        """X as columns, checked against the ones that were fitted."""
        if self._is_table(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if not len(X):
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            return _frame.columns(X)
        finite = "allow-nan" if self.impute else True
        X = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=finite)
        names = getattr(self, "feature_names_in_", None)
        return _frame.columns(X, None if names is None else list(names))

    def _learn(self, X, y, names, task, labels=None):
        table = self._table(X, reset=True)
        rows = len(y)
        found = len(table[0].codes if table[0].numbers is None else table[0].numbers)
        if found != rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: [{found}, {rows}]"
            )
        taken = {c.name for c in table}
        if len(taken) < len(table):
            raise ValueError("two columns have the same name")
        targets = [_free_name(name, taken) for name in names]
        if labels is None:
            table += [_frame.Column(t, y[:, k]) for k, t in enumerate(targets)]
        else:
            table.append(_frame.Column(targets[0], labels, words=True))
        self._fit_table(table, targets, task)
        return self

    def _options(self):
        return {name: getattr(self, name) for name in self._passed}

    def certify(self, **options):
        """A `farfield.Certificate`: whether f is bounded over all inputs, and by what. options:
        seconds, gap, starts, seed, exceeds, box_low, box_high."""
        check_is_fitted(self)
        return self.predictor_.certify(**options)

    def limit(self, U):
        """(value, order): where f goes along the directions U, f(t u) ~ value t ** order."""
        check_is_fitted(self)
        return self.predictor_.limit(U)

    def save(self, path):
        """The model as a file for the command and `farfield.load`."""
        check_is_fitted(self)
        self.predictor_.save(path)

    def _prediction(self, X, **options):
        check_is_fitted(self)
        columns = self._table(X, reset=False)
        return self.predictor_.predict(_Columns(columns), **options)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(self.impute)
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class _Columns:
    """Columns that are ready, where a data frame may stand."""

    def __init__(self, table):
        self.table = table


def _numeric(column):
    dtype = getattr(column, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def _class_name(label):
    """As it prints; in quotes where a table would have it for a missing value."""
    word = str(label)
    missing = ("", "?", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
    return repr(word) if word.lower() in missing else word


def _free_name(name, taken):
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _target_names(y):
    """Of a series or data frame its own; else y, or y1, y2, ..."""
    if _frame.is_frame(y):
        return [str(c) for c in y.columns]
    name = getattr(y, "name", None)
    if isinstance(name, str) and name:
        return [name]
    shape = np.asarray(y).shape
    width = shape[1] if len(shape) == 2 else 1
    return ["y"] if width == 1 else [f"y{k + 1}" for k in range(width)]


class _Regressor(RegressorMixin, _Estimator):
    def fit(self, X, y):
        """X n x d, or a data frame; y n, or n x outputs."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        names = _target_names(y)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        self._flat = y.ndim == 1
        return self._learn(X, y.reshape(len(y), -1), names, "regress")

    def _shape(self, values):
        return values[:, 0] if self._flat else values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


class _Classifier(ClassifierMixin, _Estimator):
    def fit(self, X, y):
        """X n x d, or a data frame; y: n labels of any kind."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        names = _target_names(y)
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected.",
                DataConversionWarning,
                stacklevel=2,
            )
            y = y.ravel()
        if y.ndim != 1:
            raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError("y has one class, and a classifier needs at least two")
        labels = np.array([_class_name(label) for label in self.classes_], object)
        if len(set(labels)) < len(labels):
            raise ValueError("two classes of y print the same")
        codes = np.searchsorted(self.classes_, y)
        self._learn(X, y, names, "classify", labels[codes])
        order = {name: k for k, name in enumerate(self.predictor_.class_names)}
        self._order = np.array([order[label] for label in labels])
        return self

    def predict_proba(self, X):
        """Probabilities, n x classes in the order of classes_."""
        found = self._prediction(X)
        return found.probability[:, self._order]

    def predict(self, X):
        """The likeliest class of each row."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[likeliest]


class _Infinite:
    """How networks of infinite width are fitted."""

    _passed = (
        "arch", "kernel", "param", "ridge", "ridge_kind", "metric", "method", "landmarks",
        "tolerance", "criterion", "standardize", "impute", "subset", "seed", "memory", "storage",
        "allow_unbounded", "extremes", "careful", "keep",
    )  # fmt: skip

    def __init__(
        self, arch="auto", *, kernel=None, param=None, ridge=None, ridge_kind=None, metric=None,
        method=None, landmarks=None, tolerance=None, criterion=None, standardize=True,
        impute=False, subset=None, seed=0, memory=None, storage=None, allow_unbounded=False,
        extremes=None, careful=False, keep=None,
    ):  # fmt: skip
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

    def _fit_table(self, table, targets, task):
        self.predictor_ = _fit.fit_infinite(table, targets, task=task, **self._options())
        self.arch_, self.ridge_ = self.predictor_.arch, self.predictor_.ridge
        self.metric_ = self.predictor_.metric

    @property
    def feature_importances_(self):
        """What of the score on the training rows is lost when a feature is shuffled."""
        check_is_fitted(self)
        return self.predictor_.importance(*self.predictor_.rows(), seed=self.seed)[1]


class NTKRegressor(_Infinite, _Regressor):
    """Regression by an infinitely wide network, exact: f(x) = sum_i alpha_i K(x, x_i).

    arch: the network, or "auto", which chooses among networks that cannot run away. kernel: "ntk"
    (all weights are trained) or "nngp" (the Bayesian posterior). ridge: relative to the mean
    diagonal (ridge_kind "absolute": not); None chooses it by leave-one-out error. metric: "diagonal"
    or "full" learns a linear map in front of the network. method: "exact", "cg" or "nystrom". The
    other parameters are fields of far_fit_opts (farfield/model.h); None is the default of the
    command.

    After fit: predictor_, arch_, ridge_, metric_, n_features_in_, feature_names_in_, feature_importances_.

    >>> X = np.linspace(-3, 3, 40).reshape(-1, 1)
    >>> model = farfield.NTKRegressor("dense ln relu dense").fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict([[0.5], [100.0]], return_std=True)
    >>> mean.shape, model.certify().bounded
    ((2,), True)
    """

    def predict(self, X, return_std=False, spread="calibrated"):
        """Means, n or n x outputs; with return_std also standard deviations of new observations
        (spread: "calibrated", "posterior", "ensemble" or "likelihood")."""
        found = self._prediction(X, spread=spread if return_std else None)
        mean = self._shape(found.mean)
        return (mean, self._shape(found.std)) if return_std else mean


class NTKClassifier(_Infinite, _Classifier):
    """Classification by an infinitely wide network, with calibrated probabilities. Parameters as
    those of NTKRegressor."""


class _Finite:
    """How finite networks are trained."""

    _passed = (
        "optimizer", "lr", "epochs", "batch", "weight_decay", "momentum", "l2_to_init", "patience",
        "stop_loss", "linearized", "dtype", "augment", "init", "seed", "standardize", "impute",
        "careful", "keep",
    )  # fmt: skip

    def __init__(
        self, arch="dense(64) ln relu dense(64) ln relu dense", *, committee=1, optimizer=None,
        lr=None, epochs=None, batch=None, weight_decay=None, momentum=None, l2_to_init=None,
        validation=None, patience=None, stop_loss=None, linearized=False, dtype=None, augment=None,
        init=None, seed=0, standardize=None, impute=False, careful=False, keep=None,
    ):  # fmt: skip
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

    def _fit_table(self, table, targets, task):
        if not self.committee >= 1:
            raise errors.ArgError(f"a committee has at least 1 member, not {self.committee}")
        self.predictor_, self.members_, self.loss_curves_ = _fit.train(
            table, targets, self.arch, task=task, loss=self._loss, count=self.committee,
            validation=self.validation, **self._options(),
        )  # fmt: skip
        self.arch_ = self.members_[0].arch

    def empirical_ntk(self, X1, X2=None, outputs="trace"):
        """The tangent kernel of the network (of the first member), n x m."""
        check_is_fitted(self)
        return self.members_[0].empirical_ntk(X1, X2, outputs)


class NetworkRegressor(_Finite, _Regressor):
    """Regression by a finite network, trained by gradient descent.

    arch: the network; its last dense layer takes its width from y. committee: the mean of so many,
    from the seeds seed, seed + 1, ... validation: the part of the rows that is kept aside, on which
    the best epoch is chosen. The other parameters are fields of far_train_opts and far_columns_opts
    (farfield/train.h, columns.h); None is the default of the command.

    After fit: predictor_, members_, loss_curves_, arch_, n_features_in_, feature_names_in_.

    >>> X = np.linspace(-3, 3, 40).reshape(-1, 1)
    >>> model = farfield.NetworkRegressor("dense(32) ln relu dense", epochs=200).fit(X, X[:, 0])
    >>> model.certify().bounded
    True
    """

    _loss = "mse"

    def predict(self, X, return_std=False):
        """Means, n or n x outputs; with return_std also the standard deviation over the members of
        the committee."""
        mean = self._prediction(X).mean
        if not return_std:
            return self._shape(mean)
        if len(self.members_) < 2:
            raise errors.ArgError("one network has no spread; train several: committee=5")
        table = _Columns(self._table(X, reset=False))
        each = np.stack([member.predict(table).mean for member in self.members_])
        return self._shape(mean), self._shape(each.std(axis=0, ddof=1))


class NetworkClassifier(_Finite, _Classifier):
    """Classification by a finite network with a softmax, trained by gradient descent. Parameters as
    those of NetworkRegressor."""

    _loss = "ce"
