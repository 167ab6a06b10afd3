"""Modules of PyTorch as predictors: layers that are known, Sequentials of them, and modules of your
own, whose forward is traced."""
from __future__ import annotations

import sys
from typing import Any, Sequence

import numpy as np

from . import _lib, errors
from ._fit import of_net
from ._lib import ffi, lib
from ._predictor import Predictor
from ._torch_graph import Graph, functions, has_trace, trace
from ._torch_layers import (
    LAYERS, NOTHING, POINTWISE, WHOLE, Layer, Refusal, attention_text, is_torch, join, skip,
)  # fmt: skip
from ._torch_same import compare
from ._torch_trust import ANYTHING, changed, parts_of, quiet_copy


# ---- modules made of modules ----


class _Reader:
    """Turns modules into layers; what is refused is collected, by its place in the module."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.changed: dict[str, str] = {}  # why, by the place

    def refuse(self, place: str, why: str) -> list[Layer]:
        self.refused.append(f"{place or 'the module'}: {why}")
        return []

    def look(self, module: Any) -> None:
        """Collects the modules that compute something else than their class says."""
        every: Any = sys.modules["torch.nn.modules.module"]
        if every._global_forward_hooks or every._global_forward_pre_hooks:
            self.changed[""] = f"a forward hook of all modules, {ANYTHING}"
        for place, part in parts_of(module):
            why = changed(part)
            if why:
                self.changed.setdefault(place, why)

    def translate(self, module: Any) -> tuple[list[Layer], Any]:
        """A module as layers, read from a copy; and the graph of its forward, None if it has none."""
        self.look(module)
        if "" in self.changed:
            return [], None
        try:
            quiet = quiet_copy(module)
        except Refusal as why:
            if self.changed:
                return [], None
            raise errors.ArchError(f"refused: {why}") from None
        graph, fault = None, ""
        try:
            graph = trace(quiet, whole=True) if has_trace(quiet) else None
        except Exception as error:  # whatever a forward of others raises
            fault = f"its forward cannot be traced ({error})"
        layers = self.read(quiet)
        if fault and not self.changed and not self.refused:
            self.refuse("", fault)
        return layers, graph

    def stop(self) -> None:
        """Raises what was refused."""
        said = []
        if self.changed:
            words = [f"{place or 'the module'}: {why}" for place, why in self.changed.items()]
            said.append("refused: " + "; ".join(words))
        if self.refused:
            known = ", ".join(sorted({*LAYERS, *NOTHING, *WHOLE}))
            said.append(
                "not known: " + "; ".join(self.refused) + f". Known are {known}, and modules whose "
                "forward is a chain of such, of functions of these names and of sums f(x) + g(x)"
            )
        if said:
            raise errors.ArchError(". ".join(said))

    def read(self, m: Any, place: str = "", causal: bool = False) -> list[Layer]:
        kind = type(m).__name__
        try:
            if m is None:
                return self.refuse(place, "None")
            why = self.changed.get(place) or changed(m)
            if why:
                self.changed[place] = why
                return []
            if not is_torch(m):
                return self.read_own(m, place)
            if kind == "Sequential":
                return self.read_children(m, place)
            if kind == "TransformerEncoder":
                return self.read_encoder(m, place, causal)
            if kind == "TransformerEncoderLayer":
                return self.read_block(m, place, causal)
            if kind == "MultiheadAttention":
                return [Layer(attention_text(m, causal), m, kind, place=place)]
            if kind in NOTHING:
                return []
            if kind not in LAYERS:
                return self.refuse(place, kind)
            return [Layer(LAYERS[kind](m), m, kind, place=place)]
        except Refusal as refusal:
            return self.refuse(place, str(refusal))

    def read_children(self, m: Any, place: str) -> list[Layer]:
        parts = [self.read(child, join(place, name)) for name, child in m._modules.items()]
        return [layer for part in parts for layer in part]

    def read_part(self, m: Any, place: str, *kinds: str) -> list[Layer]:
        """A part of a module of torch.nn, which may compute with its weights and not call it."""
        if is_torch(m) and type(m).__name__ in kinds:
            return self.read(m, place)
        return self.refuse(place, f"{type(m).__name__} in place of {kinds[0]}")

    def read_block(self, m: Any, place: str, causal: bool) -> list[Layer]:
        """A TransformerEncoderLayer: two skips, norms in front of them or behind."""

        def part(name: str, *kinds: str) -> list[Layer]:
            return self.read_part(getattr(m, name), join(place, name), *kinds)

        if not is_torch(m.self_attn) or type(m.self_attn).__name__ != "MultiheadAttention":
            return part("self_attn", "MultiheadAttention")
        nothing = ("Dropout", "Identity")
        attention = self.read(m.self_attn, join(place, "self_attn"), causal)
        attention += part("dropout1", *nothing)
        activation = self.read_activation(m, join(place, "activation"))
        forward = [*part("linear1", "Linear"), *activation, *part("dropout", *nothing)]
        forward += [*part("linear2", "Linear"), *part("dropout2", *nothing)]
        norm1, norm2 = part("norm1", "LayerNorm"), part("norm2", "LayerNorm")
        if m.norm_first:
            return [skip(norm1 + attention), skip(norm2 + forward)]
        return [skip(attention), *norm1, skip(forward), *norm2]

    def read_activation(self, m: Any, place: str) -> list[Layer]:
        """Of a TransformerEncoderLayer, which keeps it once more as a number, for its fast path."""
        import torch

        f = m.activation
        name = functions().get(id(f), "")
        if name in POINTWISE:
            found = [Layer(name, None, name)]
        elif isinstance(f, torch.nn.Module):
            found = self.read(f, place)
        else:
            return self.refuse(place, f"the function {getattr(f, '__qualname__', repr(f))}")
        fast = {1: "relu", 2: "gelu"}.get(getattr(m, "activation_relu_or_gelu", 0))
        if fast and [layer.text for layer in found] != [fast]:
            return self.refuse(place, f"not the {fast} with which the layer computes without gradients")
        return found

    def read_encoder(self, m: Any, place: str, causal: bool) -> list[Layer]:
        layers: list[Layer] = []
        for i, block in enumerate(m.layers):
            inside = join(place, f"layers.{i}")
            if type(block).__name__ == "TransformerEncoderLayer":
                layers += self.read(block, inside, causal)
            else:
                self.refuse(inside, f"{type(block).__name__} in place of TransformerEncoderLayer")
        return layers + ([] if m.norm is None else self.read(m.norm, join(place, "norm")))

    def read_own(self, m: Any, place: str) -> list[Layer]:
        """A module with a forward of its own, traced with all modules inside as they are."""
        import torch

        chain = torch.nn.Sequential
        if type(m).forward is chain.forward and type(m).__iter__ is chain.__iter__:
            return self.read_children(m, place)
        try:
            graph = trace(m)
        except Exception as error:  # whatever a forward of others raises
            return self.refuse(place, f"{type(m).__name__}, whose forward cannot be traced ({error})")
        return Graph(self, m, place, graph).layers()


# ---- the input's shape ----

_OF_IMAGES = ("Conv2d", "BatchNorm2d", "MaxPool2d", "AvgPool2d", "AdaptiveAvgPool2d", "gap")
_OF_SEQUENCES = ("MultiheadAttention", "position", "Embedding", "last", "mean")
_NOT_ON_IMAGES = ("Linear", "LayerNorm", "GroupNorm", "RMSNorm", "BatchNorm1d", *_OF_SEQUENCES)
_NOT_ON_SEQUENCES = ("GroupNorm", "BatchNorm1d", *_OF_IMAGES)
_NOT_ON_VECTORS = (*_OF_IMAGES, *_OF_SEQUENCES)


def _placed(layers: Sequence[Layer], shape: str, refused: list[str]) -> tuple[list[Layer], str]:
    """The layers without those that do nothing, refusing those that act on another axis than in the
    language; and the shape behind them."""
    found: list[Layer] = []
    for layer in layers:
        wrong = {"image": _NOT_ON_IMAGES, "sequence": _NOT_ON_SEQUENCES, "vector": _NOT_ON_VECTORS}
        if layer.kind in wrong[shape]:
            hint = "; give input_shape" if shape == "vector" else ""
            refused.append(f"{layer.kind} on {'an image' if shape == 'image' else 'a ' + shape}{hint}")
        elif layer.kind == "skip":
            inner, behind = _placed(layer.inner, shape, refused)
            found.append(skip(inner, _placed(layer.shortcut, shape, refused)[0]))
            shape = behind
        elif layer.kind == "Flatten" and shape == "vector":
            continue
        else:
            found.append(layer)
        if layer.kind in ("Flatten", "AdaptiveAvgPool2d", "gap", "mean", "last"):
            shape = "vector"
    return found, shape


def _inputs(layers: Sequence[Layer]) -> int:
    for layer in layers:
        if layer.inner:
            return _inputs(layer.inner)
        if hasattr(layer.source, "in_features"):
            return layer.source.in_features
        for name in ("normalized_shape", "num_features", "num_channels"):
            if hasattr(layer.source, name):
                value = getattr(layer.source, name)
                return value[-1] if isinstance(value, (tuple, list)) else value
    raise errors.ArchError("the module does not say how many inputs it has; give input_shape")


def _head(layers: list[Layer], shape: tuple[int, ...]) -> tuple[list[Layer], str]:
    """What the text begins with, and what rows are."""
    if len(shape) == 3:
        return [Layer("image({}x{}x{})".format(*shape))], "image"
    if len(shape) == 2:
        return [Layer("sequence({}x{})".format(*shape))], "sequence"
    if layers and layers[0].kind == "Embedding":
        if not shape:
            raise errors.ArchError("how many tokens are in a row? Give input_shape=(positions,)")
        return [Layer(f"tokens({shape[0]}, {layers[0].source.num_embeddings})")], "sequence"
    return [], "vector"


# ---- from layers to a network ----


def _weights(layers: Sequence[Layer], path: str) -> tuple[Any, str]:
    """The tensor of a name such as "2.0.weight" or "3.out_proj.weight", None if there is none, and what
    the module calls it."""
    words = path.split(".")
    layer = layers[int(words.pop(0))]
    while layer.inner:
        way = layer.inner
        if words[0] == "shortcut":
            way, words = layer.shortcut, words[1:]
        layer = way[int(words.pop(0))]
    if isinstance(layer.source, dict):
        return layer.source[words[0]], layer.place
    source = layer.source
    for word in words:
        source = getattr(source, word, None)
    return source, join(layer.place, ".".join(words))


def _numbers(tensor: Any, name: str) -> np.ndarray:
    """The values of a tensor, which is of PyTorch itself and finite."""
    import torch

    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise errors.ArchError(f"{name} is a {type(tensor).__name__}, not a plain tensor")
    if tensor.is_meta or tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex():
        what = "meta device" if tensor.is_meta else tensor.layout
        raise errors.ArchError(f"{name} is {tensor.dtype} ({what}), not plain real numbers")
    values = tensor.detach().cpu().double().numpy()
    strange = values[~np.isfinite(values)]
    if strange.size:
        raise errors.DataError(f"{name} holds {strange[0]}; weights must be finite")
    return values


def _fill(net: Any, layers: Sequence[Layer]) -> list[str]:
    """Copies the parameters and running statistics of each layer. Returns the names of parameters
    that the module does not have: a norm without a shift, an attention without biases, and weights
    that it has once for two layers."""
    without = []
    seen: set[int] = set()
    for i in range(lib.far_net_describe(net).tensors):
        tensor = lib.far_net_tensor(net, i)
        path = _lib.words(tensor.name)
        source, name = _weights(layers, path)
        count = tensor.values.rows * tensor.values.cols
        place = np.frombuffer(ffi.buffer(tensor.values.data, 8 * count), np.float64)
        if source is None:
            place[:] = 0
            without.append(path)
            continue
        values = _numbers(source, name)
        if values.size != count:
            raise errors.ShapeError(f"{name} has {values.size} numbers, not {count}")
        place[:] = values.ravel()
        if id(source) in seen and not name.endswith(("running_mean", "running_var")):
            without.append(f"{name} a second time")
        seen.add(id(source))
    return without


def _predictor(module: Any, shape: tuple[int, ...]) -> Predictor:
    """See `from_torch`."""
    reader = _Reader()
    layers, graph = reader.translate(module)
    reader.stop()
    if not layers:
        raise errors.ArchError("the module has no layers")
    head, kind = _head(layers, shape)
    layers, _ = _placed(layers, kind, reader.refused)
    reader.stop()
    width = None if head else shape[0] if shape else _inputs(layers)
    layers = head + layers
    opts = _lib.Options("far_net_opts", inputs=width, init="torch")
    arch = " ".join(layer.text for layer in layers)
    net = _lib.make(lib.far_net_create, arch.encode(), opts.pointer, destroy=lib.far_net_destroy)
    without = _fill(net, layers)
    predictor = Predictor(of_net(net))
    predictor._without = without
    del layers  # and with them a copy of the module
    compare(quiet_copy(module), graph, predictor, net, shape)
    return predictor


def from_torch(module: Any, input_shape: Any = None) -> Predictor:
    """A torch.nn.Module as a `Predictor`: the same function at evaluation, its weights copied, to be
    evaluated in float64, certified and asked for its tangent kernel.

    Known are the layers of the language, Sequential, TransformerEncoderLayer and TransformerEncoder
    (batch_first), and modules of your own, whose forward is traced: chains of layers and functions,
    sums of two of them, attention(x, x, x), learnt positions. All that is not known is refused at once,
    each with its place; so are modules that compute something else than their class says: with
    forward hooks, a forward replaced in one module, parametrized weights. The network is compared
    with the module at random points, and the trace with what the forward does there, before it is
    returned.

    input_shape: of images (channels, height, width), of sequences (positions, channels), of tokens
    (positions,); or the number of inputs of a module that does not tell. Points are rows: images
    and sequences flat, x.flatten(1).

    >>> from torch import nn
    >>> module = nn.Sequential(nn.Linear(3, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 2))
    >>> f = farfield.from_torch(module)
    >>> f(np.ones((5, 3))).shape, f.certify().bounded
    ((5, 2), True)
    """
    import torch

    if not isinstance(module, torch.nn.Module):
        raise errors.ArgError(f"{module!r} is no torch.nn.Module")
    shape = tuple(int(n) for n in np.ravel(input_shape)) if input_shape is not None else ()
    with torch.inference_mode(False), torch.no_grad():
        return _predictor(module, shape)
