"""From tables to predictors: exact fits at infinite width, and training of finite networks."""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from . import _frame, _lib, errors
from ._lib import ffi, lib
from ._predictor import Predictor


def fit_infinite(table: Sequence[_frame.Column], targets: Sequence[str], **options: Any) -> Predictor:
    """far_predictor_fit over columns (`_frame.columns`), the names of the targets and far_fit_opts
    by name."""
    opts = _lib.Options("far_fit_opts", target=_frame.listed(targets), **options)
    return Predictor(
        _lib.make(
            lib.far_predictor_fit,
            _frame.frame(table),
            opts.pointer,
            destroy=lib.far_predictor_destroy,
        )
    )


def _net(arch: str, examples: Any, seed: int, init: str | None) -> Any:
    """A network of random weights for the columns of the examples."""
    opts = _lib.Options(
        "far_net_opts",
        inputs=examples.inputs.cols,
        outputs=examples.targets.cols,
        init=init,
        seed=seed,
    )
    net = _lib.make(
        lib.far_net_create, _lib.c_text(arch), opts.pointer, destroy=lib.far_net_destroy
    )
    _lib.call(lib.far_net_set_columns, net, examples.columns)
    return net


def of_net(net: Any) -> Any:
    """A network as a predictor, which keeps it."""
    ctx, out = _lib.context(), ffi.new("far_predictor **")
    _lib.call(lib.far_predictor_of_net, net, out)
    return _lib.owned(out[0], lib.far_predictor_destroy, ctx, net)


def _committee(nets: list[Any]) -> Any:
    """Their mean. Its members belong to it, so they are not destroyed on their own."""
    ctx, out = _lib.context(), ffi.new("far_predictor **")
    members = ffi.new("far_predictor *[]", len(nets))
    try:
        for i, net in enumerate(nets):
            one = ffi.new("far_predictor **")
            _lib.call(lib.far_predictor_of_net, net, one)
            members[i] = one[0]
        _lib.call(lib.far_predictor_committee, members, len(nets), out)
    except BaseException:
        for member in members:
            lib.far_predictor_destroy(member)
        raise
    return _lib.owned(out[0], lib.far_predictor_destroy, ctx, *nets)


def _part(mat: Any, rows: np.ndarray) -> np.ndarray:
    """Some rows of a far_mat, as an array."""
    return np.ascontiguousarray(_lib.copy(mat)[rows])


def train(
    table: Sequence[_frame.Column], targets: Sequence[str], arch: Any, *, loss: str | None = None,
    task: str | None = None, standardize: str | None = None, impute: bool | None = None,
    careful: bool | None = None, keep: str | None = None, features: str | None = None,
    init: str | None = None, seed: int = 0, count: int = 1, validation: float | None = None,
    **options: Any,
) -> tuple[Predictor, list[Predictor], list[np.ndarray], tuple[np.ndarray, np.ndarray]]:  # fmt: skip
    """far_net_train over columns: predictor, predictors of the members, histories of the loss, and
    the rows (inputs and targets, raw). count networks are trained from the seeds seed, seed + 1,
    ...; options: far_train_opts."""
    arch = _lib.as_text("arch", arch)
    learn = _lib.Options(
        "far_columns_opts", target=_frame.listed(targets), loss=loss, task=task, arch=arch,
        standardize=standardize, impute=impute, careful=careful, keep=keep, features=features,
    )  # fmt: skip
    frame = _frame.frame(table)
    examples = _lib.make(
        lib.far_examples_learn, frame, learn.pointer, destroy=lib.far_examples_destroy
    )
    nets = [_net(arch, examples, seed + i, init) for i in range(count)]
    opts = _lib.Options("far_train_opts", loss=loss, seed=seed, **options)
    x, y = examples.inputs, examples.targets
    kept: list[Any] = []
    if validation:
        kept, x, y = _split(examples, validation, seed, opts.pointer)
    history = np.full((count, max(opts.pointer.epochs, 1)), np.nan)
    opts.pointer.history = ffi.from_buffer("double[]", history)
    _lib.call(
        lib.far_net_train_many,
        ffi.new("far_net *[]", nets),
        count,
        ffi.addressof(x) if not kept else x,
        ffi.addressof(y) if not kept else y,
        opts.pointer,
        [seed + i for i in range(count)],
        ffi.NULL,
        _results(count, kept),
    )
    _check(kept[-1])
    members = [Predictor(of_net(net)) for net in nets]
    whole = members[0] if count == 1 else Predictor(_committee(nets))
    return whole, members, [h[~np.isnan(h)] for h in history], _raw(examples)


def _raw(examples: Any) -> tuple[np.ndarray, np.ndarray]:
    """The rows that were trained on, in the units of the table."""
    scaling = lib.far_columns_describe(examples.columns).scaling
    inputs, targets = (_lib.copy(m) for m in (examples.inputs, examples.targets))
    return (
        inputs * _lib.copy(scaling.input_scale) + _lib.copy(scaling.input_centre),
        targets * _lib.copy(scaling.output_scale) + _lib.copy(scaling.output_centre),
    )


def _results(count: int, kept: list[Any]) -> Any:
    kept.append(ffi.new("far_train_result[]", count))
    return kept[-1]


def _check(results: Any) -> None:
    """A committee goes on where one of its networks diverges; we do not."""
    for i, result in enumerate(results):
        if result.end == lib.FAR_TRAIN_DIVERGED:
            raise errors.DataError(
                f"network {i + 1} diverged: its loss left the range of numbers in epoch "
                f"{result.epochs + 1}; try a smaller lr"
            )


def _split(examples: Any, part: float, seed: int, opts: Any) -> tuple[list[Any], Any, Any]:
    """Draws the part of the rows that is not trained on."""
    n = examples.inputs.rows
    order = np.random.default_rng(seed).permutation(n)
    cut = min(max(int(round(part * n)), 1), n - 1)
    arrays = [_part(m, rows) for rows in (order[:cut], order[cut:])
              for m in (examples.inputs, examples.targets)]  # fmt: skip
    views = [_lib.view(a) for a in arrays]
    opts.val_x, opts.val_y = views[0], views[1]
    return [arrays, views], views[2], views[3]
