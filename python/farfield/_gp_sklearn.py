"""Kernels of infinitely wide networks for scikit-learn's Gaussian processes."""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

try:
    from sklearn.gaussian_process.kernels import Hyperparameter
    from sklearn.gaussian_process.kernels import Kernel as _SklearnKernel
except ImportError as error:
    raise ImportError("this needs scikit-learn: pip install 'farfield[sklearn]'") from error

from ._kernel import Kernel
from .errors import ShapeError


class SklearnKernel(_SklearnKernel):  # type: ignore[misc]
    """The NTK or NNGP kernel of an architecture as a kernel of sklearn.gaussian_process, of points
    divided by length_scale.

    arch, param: as `farfield.kernel`. get: "nngp" (the prior of Bayesian networks, the default) or
    "ntk". length_scale: one number, or one for each input; it is the hyper-parameter, with its
    derivative in closed form, within length_scale_bounds (or "fixed"). The amplitude and noise are
    those of scikit-learn: ConstantKernel() * SklearnKernel(...) + WhiteKernel(). Scales of weights
    and biases stand in the text (dense(w=, b=)) and stay as they are.

    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> X = np.linspace(-3, 3, 30).reshape(-1, 1)
    >>> k = farfield.SklearnKernel("dense relu dense", length_scale=2.0)
    >>> k(X).shape, k.diag(X).shape, k.theta.shape
    ((30, 30), (30,), (1,))
    >>> gp = GaussianProcessRegressor(k, alpha=1e-4).fit(X, np.sin(X[:, 0]))
    >>> bool(gp.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    def __init__(
        self, arch: str = "dense relu dense", get: str = "nngp", length_scale: Any = 1.0,
        length_scale_bounds: Any = (1e-3, 1e3), param: str = "ntk",
    ) -> None:  # fmt: skip
        self.arch = arch
        self.get = get
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds
        self.param = param

    @property
    def hyperparameter_length_scale(self) -> Any:
        """The hyper-parameter, as scikit-learn asks for it."""
        count = np.size(self.length_scale)
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds, count)

    def _points(self, X: ArrayLike) -> np.ndarray:
        X = np.asarray(X, np.float64)
        X = X.reshape(len(X), -1) if X.ndim != 2 else X
        scale = np.asarray(self.length_scale, np.float64)
        if scale.size != 1 and scale.shape != X.shape[1:]:
            raise ShapeError(
                f"length_scale has {scale.size} values, and the points have {X.shape[1]} columns: give "
                "one number, or one for each column"
            )
        return np.ascontiguousarray(X / scale)

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False) -> Any:
        """The matrix, n x m; with eval_gradient also its derivatives by log(length_scale), n x n x
        hyper-parameters."""
        k, x = Kernel(self.arch, self.param), self._points(X)
        matrix = k(x, None if Y is None else self._points(Y), self.get)
        if not eval_gradient:
            return matrix
        if Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        if self.hyperparameter_length_scale.fixed:
            return matrix, np.empty((*matrix.shape, 0))
        pairs = k.slopes(x, get=self.get) * x[:, None, :]  # x_i dK(x_i, x_j)/dx_i
        each = -(pairs + pairs.transpose(1, 0, 2))
        return matrix, each if np.size(self.length_scale) > 1 else each.sum(axis=2, keepdims=True)

    def diag(self, X: ArrayLike) -> np.ndarray:
        """The diagonal of the matrix of X: n values."""
        return Kernel(self.arch, self.param).diag(self._points(X), self.get)

    def is_stationary(self) -> bool:
        """False: the kernel depends on where points are, not on their difference alone."""
        return False

    def __repr__(self) -> str:
        return f"SklearnKernel({self.arch!r}, get={self.get!r}, length_scale={self.length_scale})"
