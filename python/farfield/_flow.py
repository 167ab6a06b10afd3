"""What gradient descent makes of infinitely wide networks, at any time."""
from __future__ import annotations

import functools
from typing import Any, Callable, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ._kernel import Kernel
from ._lib import array, interruptible
from .errors import ArgError, ShapeError


class Gaussian(NamedTuple):
    """Mean (m x outputs) and covariance (m x m, that of each output) of trained networks; of an array
    of times with the axes of that array in front.

    >>> x = np.linspace(-1, 1, 5).reshape(-1, 1)
    >>> f = farfield.gradient_descent_mse_ensemble(farfield.kernel("dense relu dense"), x, x)
    >>> g = f(1.0, x[:3], compute_cov=True)
    >>> g.mean.shape, g.covariance.shape
    ((3, 1), (3, 3))
    """

    mean: np.ndarray
    covariance: np.ndarray


def gradient_descent_mse_ensemble(
    kernel: Kernel | str, x_train: ArrayLike, y_train: ArrayLike, learning_rate: float = 1.0,
    diag_reg: float = 0.0, diag_reg_absolute_scale: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """predict_fn(t, x_test, get="ntk", compute_cov=False): what the mean over infinitely wide
    networks is after gradient flow for a time t on 1/2 the mean over rows and outputs of
    (f - y)^2, and with compute_cov their covariance, a `Gaussian`. t None or inf: the end; an array
    of times: one for each, t.shape + (m, outputs). get "ntk" trains all weights, "nngp" the last
    layer alone.

    kernel: a `Kernel`, or its architecture; x_train n x d; y_train n x outputs (or n); diag_reg is added to the
    diagonal of the training matrix, times its mean unless diag_reg_absolute_scale. Names and time
    are those of neural-tangents. The first call of each `get` decomposes an n x n matrix.

    >>> k = farfield.kernel("dense relu dense")
    >>> x = np.linspace(-1, 1, 5).reshape(-1, 1)
    >>> f = farfield.gradient_descent_mse_ensemble(k, x, np.sin(x), diag_reg=1e-6)
    >>> bool(abs(f(None, x) - np.sin(x)).max() < 1e-3)
    True
    >>> f(0.0, x, compute_cov=True).covariance.shape
    (5, 5)
    >>> f([0.0, 1.0, np.inf], x[:2]).shape
    (3, 2, 1)
    """
    x_train = array(x_train, "x_train").astype(np.float64, copy=False)
    y = np.asarray(y_train, np.float64)
    y = y.reshape(-1, 1) if y.ndim == 1 else y
    if len(y) != len(x_train):
        raise ShapeError(f"x_train has {len(x_train)} rows and y_train {len(y)}")
    kernel = Kernel(kernel) if isinstance(kernel, str) else kernel
    flow = _Flow(kernel, x_train, y, learning_rate, diag_reg, diag_reg_absolute_scale)
    return flow.predict


class _Flow:
    def __init__(
        self, kernel: Kernel, x: np.ndarray, y: np.ndarray, rate: float, ridge: float, absolute: bool
    ) -> None:
        self.kernel, self.x, self.y, self.rate = kernel, x, y, rate
        self.ridge, self.absolute = ridge, absolute
        self.parts: dict[str, Any] = {}

    def decompose(self, get: str) -> Any:
        """Eigenvalues and eigenvectors of the training matrix of `get`, and the matrix of NNGP."""
        if get not in self.parts:
            k = self.kernel(self.x, None, get)
            ridge = self.ridge if self.absolute else self.ridge * np.trace(k) / len(k)
            self.parts[get] = interruptible(np.linalg.eigh, k + ridge * np.eye(len(k)))
        return self.parts[get]

    def filter(self, values: np.ndarray, t: float) -> np.ndarray:
        """(1 - exp(-lambda t)) / lambda: what a time t makes of lambda."""
        if t == np.inf:
            if not values.min() > 0:
                raise ArgError(
                    "the training matrix is singular to working precision, and has no end of "
                    "training: give diag_reg, or a time"
                )
            return 1 / values
        if not t >= 0:
            raise ArgError(f"a time is at least 0, not {t}")
        t = t * self.rate / self.y.size
        values = np.maximum(values, 0)
        small = values * t < 1e-300
        return np.where(small, t, -np.expm1(-values * t) / np.where(small, 1, values))

    def predict(
        self, t: ArrayLike | None = None, x_test: ArrayLike | None = None, get: str = "ntk",
        compute_cov: bool = False,
    ) -> Any:  # fmt: skip
        """See gradient_descent_mse_ensemble. x_test None: the training points."""
        if get not in ("ntk", "nngp"):
            raise ArgError(f'get is "ntk" or "nngp", not {get!r}')
        times = _times(t)
        x = self.x if x_test is None else array(x_test, "x_test").astype(np.float64, copy=False)
        at = _At(self, x, get)
        mean = _stacked(times, at.mean)
        return Gaussian(mean, _stacked(times, at.covariance)) if compute_cov else mean


class _At:
    """What training makes of f at some points, as a function of time."""

    def __init__(self, flow: _Flow, x: np.ndarray, get: str) -> None:
        self.flow, self.x, self.get = flow, x, get
        self.values, self.vectors = flow.decompose(get)
        self.cross = flow.kernel(x, flow.x, get) @ self.vectors

    def weights(self, t: float) -> np.ndarray:
        return self.cross * self.flow.filter(self.values, t)

    def mean(self, t: float) -> np.ndarray:
        return self.weights(t) @ (self.vectors.T @ self.flow.y)

    def covariance(self, t: float) -> np.ndarray:
        if self.get == "nngp":  # the posterior at the end
            found = self.start[0] - self.weights(2 * t) @ self.cross.T
        else:
            found = self.ensemble(self.weights(t) @ self.vectors.T)
        return (found + found.T) / 2

    @functools.cached_property
    def start(self) -> tuple[np.ndarray, ...]:
        """The covariance of the random start: of the points, with the training points, of those."""
        nngp, seen = self.flow.kernel.nngp, self.flow.x
        return (nngp(self.x),) if self.get == "nngp" else (nngp(self.x), nngp(seen, self.x), nngp(seen))

    def ensemble(self, weights: np.ndarray) -> np.ndarray:
        """Of f(x) - weights f(X), f the random start: what training leaves of it."""
        here, between, seen = self.start
        mixed = weights @ between
        return here + weights @ seen @ weights.T - mixed - mixed.T


def _times(t: ArrayLike | None) -> np.ndarray:
    try:
        return np.asarray(np.inf if t is None else t, np.float64)
    except (TypeError, ValueError):
        raise ArgError(f"t is a time, or an array of times, not {t!r}") from None


def _stacked(times: np.ndarray, function: Callable[[float], np.ndarray]) -> np.ndarray:
    """The function of each time, behind the axes of the array of times."""
    if times.ndim == 0:
        return function(float(times))
    if times.size == 0:
        return np.empty((*times.shape, *function(0.0).shape))
    found = np.stack([function(t) for t in times.ravel().tolist()])
    return found.reshape(*times.shape, *found.shape[1:])
