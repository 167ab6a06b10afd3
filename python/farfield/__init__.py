"""What does a neural network do far from its data?

Kernels of infinitely wide networks, exact at finite points and at infinity; regression and
classification by them and by finite networks; and certificates, proven for every input.

    farfield.kernel("dense ln relu dense")          NTK and NNGP, limits, suprema
    farfield.NTKRegressor(), NTKClassifier()        estimators of scikit-learn, infinite width
    farfield.NetworkRegressor(), NetworkClassifier()  finite, trained
    farfield.certify(path, module or estimator)     bounded? by what? or which way does it run?
    farfield.from_torch(module)                     a module of PyTorch as a predictor
    farfield.SklearnKernel(arch), GPyTorchKernel(arch)  for Gaussian processes made elsewhere
"""
from typing import TYPE_CHECKING, Any

from . import stax
from ._certificate import Bound, Certificate
from ._figure import Figure
from ._flow import Gaussian, gradient_descent_mse_ensemble
from ._kernel import Kernel, Kernels, Limit, Supremum, grammar, kernel
from ._lib import lib as _library
from ._lib import progress, set_threads
from ._lib import words as _words
from ._predictor import Metric, Prediction, Predictor, certify, empirical_ntk, load
from .errors import (
    ArchError, ArgError, BackendError, BudgetError, CancelledError, DataError, FarfieldError,
    FileError, ForkError, FormatError, OutOfMemoryError, ParseError, RangeError, ShapeError,
    SingularError,
)  # fmt: skip

if TYPE_CHECKING:
    from ._gp_sklearn import SklearnKernel
    from ._gp_torch import GPyTorchKernel
    from ._torch import from_torch
    from .estimators import NetworkClassifier, NetworkRegressor, NTKClassifier, NTKRegressor

__version__ = _words(_library.far_version())

# scikit-learn, PyTorch and GPyTorch are not needed by the rest: imported when they are.
_LATER = {
    "NTKRegressor": "estimators", "NTKClassifier": "estimators", "NetworkRegressor": "estimators",
    "NetworkClassifier": "estimators", "SklearnKernel": "_gp_sklearn", "from_torch": "_torch",
    "GPyTorchKernel": "_gp_torch",
}  # fmt: skip
__all__ = [
    "ArchError", "ArgError", "BackendError", "Bound", "BudgetError", "CancelledError",
    "Certificate", "DataError", "FarfieldError", "Figure", "FileError", "ForkError", "FormatError",
    "Gaussian", "Kernel", "Kernels", "Limit", "Metric", "NTKClassifier",
    "NTKRegressor", "NetworkClassifier", "NetworkRegressor", "OutOfMemoryError", "ParseError",
    "Prediction", "Predictor", "RangeError", "ShapeError", "SingularError", "SklearnKernel",
    "Supremum", "certify", "empirical_ntk", "from_torch", "gradient_descent_mse_ensemble",
    "grammar", "kernel", "load", "progress", "set_threads", "stax",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module("." + _LATER[name], __name__), name)
    raise AttributeError(f"module 'farfield' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
