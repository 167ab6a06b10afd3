"""What does a neural network do far from its data?

Kernels of infinitely wide networks, exact at finite points and at infinity; regression and
classification by them and by finite networks; and certificates, proven for every input.

    farfield.kernel("dense ln relu dense")          NTK and NNGP, limits, suprema
    farfield.NTKRegressor(), NTKClassifier()        estimators of scikit-learn, infinite width
    farfield.NetworkRegressor(), NetworkClassifier()  finite, trained
    farfield.certify(path, module or estimator)     bounded? by what? or which way does it run?
    farfield.from_torch(module)                     a torch.nn.Sequential as a predictor
"""
from . import stax
from ._certificate import Bound, Certificate
from ._flow import Gaussian, gradient_descent_mse_ensemble
from ._kernel import Kernel, Kernels, Limit, Supremum, grammar, kernel
from ._lib import lib as _library
from ._lib import progress, set_threads, text as _text
from ._predictor import Metric, Prediction, Predictor, certify, empirical_ntk, load
from .errors import (
    ArchError, ArgError, BackendError, BudgetError, CancelledError, DataError, FarfieldError,
    FileError, ForkError, FormatError, OutOfMemoryError, ParseError, RangeError, ShapeError,
    SingularError,
)  # fmt: skip

__version__ = _text(_library.far_version())

_ESTIMATORS = ("NTKRegressor", "NTKClassifier", "NetworkRegressor", "NetworkClassifier")
_TORCH = ("from_torch",)
__all__ = [name for name in globals() if not name.startswith("_") and name != "errors"]
__all__ += [*_ESTIMATORS, *_TORCH]


def __getattr__(name):
    # scikit-learn and PyTorch are not needed by the rest: imported when they are.
    if name in _ESTIMATORS:
        from . import estimators

        return getattr(estimators, name)
    if name in _TORCH:
        from . import _torch

        return getattr(_torch, name)
    raise AttributeError(f"module 'farfield' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_ESTIMATORS, *_TORCH])
