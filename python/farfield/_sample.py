"""Draws from what is known of a fit of infinite width, jointly over points."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _lib, errors
from ._kernel import Kernel
from ._lib import lib
from ._predictor import Predictor

_SPREADS = ("calibrated", "posterior", "ensemble")


def draw(
    predictor: Predictor, table: Any, count: int, rng: np.random.RandomState, spread: str
) -> np.ndarray:
    """n x outputs x count: mean + scale size (root of the covariance + noise)."""
    model = lib.far_predictor_model(predictor._predictor)
    if not model:
        raise errors.ArgError(f"there are draws from one network of infinite width, not from a predictor that is {predictor.kind}")
    count = _lib.whole("n_samples", count, 1)
    if spread not in _SPREADS:
        raise errors.ArgError(f"spread is one of {', '.join(_SPREADS)}, not {spread!r}")
    size, noise = _band(model, spread)
    covariance = _covariance(predictor, model, table, spread)
    values, vectors = _lib.interruptible(np.linalg.eigh, (covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0))
    mean = predictor.predict(table).mean
    rows, outputs = mean.shape
    smooth = np.tensordot(root, rng.standard_normal((rows, outputs, count)), 1)
    rough = rng.standard_normal((rows, outputs, count)) * np.sqrt(noise)[None, :, None]
    return mean[:, :, None] + size[None, :, None] * (smooth + rough)


def _band(model: Any, spread: str) -> tuple[np.ndarray, np.ndarray]:
    """What the covariance of an output is multiplied with (its root), and what is added to it."""
    columns = lib.far_columns_describe(model.columns)
    scale = _lib.copy(columns.scaling.output_scale)[0]
    if spread != "calibrated":
        return scale, np.zeros(len(scale))
    if model.method == lib.FAR_METHOD_CG:
        raise errors.ArgError(
            'intervals of a fit by conjugate gradients know its landmarks alone: take method="exact"'
            ', or spread="posterior"'
        )
    band = _lib.copy(model.interval)
    if band is None:
        raise errors.ArgError("the model is from an older file, without intervals: fit it again")
    return scale * band[:, 0], band[:, 1]


def _covariance(predictor: Predictor, model: Any, table: Any, spread: str) -> np.ndarray:
    """Between the rows of the table, of amplitude one: the posterior K(x, x) - k (K + ridge)^-1 k',
    or that over trained networks, K0 of what training leaves of f0(x) - k (K + ridge)^-1 f0(X)."""
    param = "ntk" if model.param == lib.FAR_PARAM_NTK else "standard"
    get = "ntk" if model.kernel == lib.FAR_KERNEL_NTK else "nngp"
    k = Kernel(_lib.text(model.arch) or "", param)
    seen, asked = (_behind_metric(model, x) for x in (_lib.copy(model.x), predictor._inputs(table)))
    cross = k(asked, seen, get)
    matrix = k(seen, None, get) + model.ridge * np.eye(len(seen))
    weights = _lib.interruptible(np.linalg.solve, matrix, cross.T).T
    if spread != "ensemble":
        return k(asked, None, get) - weights @ cross.T
    mixed = weights @ k.nngp(seen, asked)
    return k.nngp(asked) + weights @ k.nngp(seen) @ weights.T - mixed - mixed.T


def _behind_metric(model: Any, x: np.ndarray) -> np.ndarray:
    metric = _lib.copy(model.metric.map)
    if metric is None:
        return x
    return x * metric[:, 0] if model.metric.kind == lib.FAR_METRIC_DIAGONAL else x @ metric
