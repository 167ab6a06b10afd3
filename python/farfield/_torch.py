"""Modules of PyTorch as predictors: layers that are known, Sequentials of them, and modules of your
own, whose forward is traced."""
from __future__ import annotations

import copy
from typing import Any, Callable, NamedTuple, Sequence

import numpy as np

from . import _lib, errors
from ._fit import of_net
from ._lib import ffi, lib
from ._predictor import Predictor


class Layer(NamedTuple):
    """A layer as text, where its weights are, its kind, and what is inside (a skip, its shortcut)."""

    text: str
    source: Any = None
    kind: str = ""
    inner: Sequence[Any] = ()
    shortcut: Sequence[Any] = ()


class Refusal(Exception):
    """Why a module has no translation."""


# ---- single modules ----


def _pair(value: Any) -> tuple[int, int]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def _square(name: str, value: Any) -> int:
    height, width = _pair(value)
    if height != width:
        raise Refusal(f"{name} {height}x{width}, where only one number for both is known")
    return height


def _number(value: Any) -> str:
    return format(float(value), ".17g")


def _dense(m: Any) -> str:
    return f"dense({m.out_features}" + (")" if m.bias is not None else ", nobias)")


def _ln(m: Any) -> str:
    if len(m.normalized_shape) != 1:
        raise Refusal(f"LayerNorm over {tuple(m.normalized_shape)}, where only channels are known")
    return f"ln(eps={_number(m.eps)}{', affine' if m.elementwise_affine else ''})"


def _group(m: Any) -> str:
    return f"ln(groups={m.num_groups}, eps={_number(m.eps)}{', affine' if m.affine else ''})"


def _rms(m: Any) -> str:
    import torch

    if len(m.normalized_shape) != 1:
        raise Refusal(f"RMSNorm over {tuple(m.normalized_shape)}, where only channels are known")
    dtype = torch.get_default_dtype() if m.weight is None else m.weight.dtype
    eps = torch.finfo(dtype).eps if m.eps is None else m.eps
    return f"rms(eps={_number(eps)}{', affine' if m.elementwise_affine else ''})"


def _batch(m: Any) -> str:
    if not m.track_running_stats:
        raise Refusal("BatchNorm without running statistics, which is no function of one input")
    return f"batchnorm(eps={_number(m.eps)}{', affine' if m.affine else ''})"


def _conv(m: Any) -> str:
    if m.groups != 1 or _pair(m.dilation) != (1, 1) or m.padding_mode != "zeros":
        raise Refusal("Conv2d with groups, dilation or a padding mode")
    if isinstance(m.padding, str):
        raise Refusal(f"Conv2d with padding={m.padding!r}, to be given as a number")
    height, width = _pair(m.kernel_size)
    more = "" if m.bias is not None else ", nobias"
    stride, pad = _square("stride", m.stride), _square("padding", m.padding)
    return f"conv({m.out_channels}, {height}x{width}, stride={stride}, pad={pad}{more})"


def _max_pool(m: Any) -> str:
    if _pair(m.dilation) != (1, 1) or m.ceil_mode or m.return_indices:
        raise Refusal("MaxPool2d with dilation, ceil_mode or indices")
    size, stride = _square("window", m.kernel_size), _square("stride", m.stride)
    return f"maxpool({size}, stride={stride}, pad={_square('padding', m.padding)})"


def _avg_pool(m: Any) -> str:
    if m.ceil_mode or m.divisor_override or _pair(m.padding) != (0, 0):
        raise Refusal("AvgPool2d with padding, ceil_mode or a divisor")
    return f"avgpool({_square('window', m.kernel_size)}, stride={_square('stride', m.stride)})"


def _adaptive(m: Any) -> str:
    if m.output_size not in (1, (1, 1)):
        raise Refusal("AdaptiveAvgPool2d with an output other than 1")
    return "gap"


def _flatten(m: Any) -> str:
    if (m.start_dim, m.end_dim) != (1, -1):
        raise Refusal("Flatten of some dimensions")
    return "flatten"


def _softplus(m: Any) -> str:
    if m.beta != 1:
        raise Refusal(f"Softplus with beta={m.beta}")
    return "softplus"


def _embed(m: Any) -> str:
    if m.max_norm is not None:
        raise Refusal("Embedding with max_norm")
    return f"embed({m.embedding_dim})"


def _attention(m: Any, causal: bool = False) -> str:
    if not m.batch_first:
        raise Refusal("MultiheadAttention without batch_first=True")
    odd = m.kdim != m.embed_dim or m.vdim != m.embed_dim or m.bias_k is not None
    if odd or m.add_zero_attn:
        raise Refusal("MultiheadAttention with kdim, vdim, add_bias_kv or add_zero_attn")
    return f"attention({m.num_heads}{', causal' if causal else ''})"


_LAYERS: dict[str, Callable[[Any], str]] = {
    "Linear": _dense,
    "LayerNorm": _ln,
    "GroupNorm": _group,
    "RMSNorm": _rms,
    "BatchNorm1d": _batch,
    "BatchNorm2d": _batch,
    "Conv2d": _conv,
    "MaxPool2d": _max_pool,
    "AvgPool2d": _avg_pool,
    "AdaptiveAvgPool2d": _adaptive,
    "Flatten": _flatten,
    "Embedding": _embed,
    "ReLU": lambda m: "relu",
    "LeakyReLU": lambda m: f"leaky_relu({_number(m.negative_slope)})",
    "Tanh": lambda m: "tanh",
    "GELU": lambda m: "gelu(tanh)" if m.approximate == "tanh" else "gelu",
    "SiLU": lambda m: "silu",
    "Sigmoid": lambda m: "sigmoid",
    "ELU": lambda m: f"elu({_number(m.alpha)})",
    "Softplus": _softplus,
    "Mish": lambda m: "mish",
}
_NOTHING = ("Identity", "Dropout", "Dropout1d", "Dropout2d")  # at evaluation
_WHOLE = ("MultiheadAttention", "Sequential", "TransformerEncoder", "TransformerEncoderLayer")
_POINTWISE = ("relu", "leaky_relu", "tanh", "gelu", "silu", "sigmoid", "elu", "softplus", "mish")


# ---- modules made of modules ----


class _Reader:
    """Turns modules into layers; what is refused is collected, by its place in the module."""

    def __init__(self) -> None:
        self.refused: list[str] = []

    def refuse(self, place: str, why: str) -> list[Layer]:
        self.refused.append(f"{place or 'the module'}: {why}")
        return []

    def read(self, m: Any, place: str = "", causal: bool = False) -> list[Layer]:
        kind = type(m).__name__
        try:
            if not type(m).__module__.startswith("torch.nn"):
                return self.read_own(m, place)
            if kind == "Sequential":
                parts = [self.read(child, _join(place, name)) for name, child in m.named_children()]
                return [layer for part in parts for layer in part]
            if kind == "TransformerEncoder":
                return self.read_encoder(m, place, causal)
            if kind == "TransformerEncoderLayer":
                return self.read_block(m, place, causal)
            if kind == "MultiheadAttention":
                return [Layer(_attention(m, causal), m, kind)]
            if kind in _NOTHING:
                return []
            if kind not in _LAYERS:
                return self.refuse(place, kind)
            return [Layer(_LAYERS[kind](m), m, kind)]
        except Refusal as why:
            return self.refuse(place, str(why))

    def read_block(self, m: Any, place: str, causal: bool) -> list[Layer]:
        """A TransformerEncoderLayer: two skips, norms in front of them or behind."""
        attention = self.read(m.self_attn, _join(place, "self_attn"), causal)
        forward = [
            *self.read(m.linear1, _join(place, "linear1")),
            *self.read_activation(m.activation, _join(place, "activation")),
            *self.read(m.linear2, _join(place, "linear2")),
        ]
        norms = [self.read(n, _join(place, s)) for n, s in ((m.norm1, "norm1"), (m.norm2, "norm2"))]
        if m.norm_first:
            return [_skip(norms[0] + attention), _skip(norms[1] + forward)]
        return [_skip(attention), *norms[0], _skip(forward), *norms[1]]

    def read_activation(self, f: Any, place: str) -> list[Layer]:
        name = getattr(f, "__name__", "")
        if name in _POINTWISE:
            return [Layer(name, None, name)]
        return self.read(f, place) if hasattr(f, "forward") else self.refuse(place, name or repr(f))

    def read_encoder(self, m: Any, place: str, causal: bool) -> list[Layer]:
        blocks = [self.read(b, _join(place, f"layers.{i}"), causal) for i, b in enumerate(m.layers)]
        norm = [] if m.norm is None else self.read(m.norm, _join(place, "norm"))
        return [layer for block in blocks for layer in block] + norm

    def read_own(self, m: Any, place: str) -> list[Layer]:
        """A module with a forward of its own, traced with all modules inside as they are."""
        import torch

        class Tracer(torch.fx.Tracer):  # type: ignore[name-defined,misc]
            def is_leaf_module(self, module: Any, name: str) -> bool:
                return True

        if type(m).forward is torch.nn.Sequential.forward:
            parts = [self.read(child, _join(place, name)) for name, child in m.named_children()]
            return [layer for part in parts for layer in part]
        try:
            graph = Tracer().trace(m)
        except Exception as error:  # whatever a forward of others raises
            return self.refuse(place, f"{type(m).__name__}, whose forward cannot be traced ({error})")
        return _Graph(self, m, place, graph).layers()


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _skip(inner: list[Layer], shortcut: Sequence[Layer] = ()) -> Layer:
    """x + inner(x), or shortcut(x) + inner(x)."""
    words = [layer.text for layer in inner]
    if shortcut:
        words += ["|", *(layer.text for layer in shortcut)]
    return Layer(f"skip({' '.join(words)})", None, "skip", inner, shortcut)


class _Graph:
    """A traced forward, walked from its output back to its input."""

    def __init__(self, reader: _Reader, module: Any, place: str, graph: Any) -> None:
        self.reader, self.module, self.place = reader, module, place
        self.nodes = list(graph.nodes)
        self.inputs = [n for n in self.nodes if n.op == "placeholder" and n.users]
        self.output = next(n for n in self.nodes if n.op == "output").args[0]

    def layers(self) -> list[Layer]:
        if len(self.inputs) != 1 or not hasattr(self.output, "op"):
            return self.reader.refuse(self.place, "a forward of one input and one output is known")
        return self.path(self.output, self.inputs[0])

    def path(self, node: Any, start: Any) -> list[Layer]:
        """The layers from one value to another."""
        if node is start:
            return []
        if node.op == "placeholder" or not node.args or not hasattr(node.args[0], "op"):
            return self.reader.refuse(self.where(node), "not a chain of layers and residual sums")
        if _name(node) in ("add", "iadd", "add_"):
            return self.sum(node, start)
        return self.path(node.args[0], start) + self.step(node)

    def sum(self, node: Any, start: Any) -> list[Layer]:
        first, second = node.args[0], node.args[1]
        for value, other in ((first, second), (second, first)):
            if getattr(value, "op", "") == "get_attr":
                return self.path(other, start) + self.position(value)
            if hasattr(value, "op") and hasattr(other, "op") and value in _ancestors(other):
                return self.path(value, start) + [_skip(self.path(other, value))]
        if not hasattr(first, "op") or not hasattr(second, "op"):
            return self.reader.refuse(self.where(node), "a sum with a number")
        shared = _ancestors(first) & _ancestors(second)
        fork = next((n for n in reversed(self.nodes) if n in shared), None)
        if fork is None:
            return self.reader.refuse(self.where(node), "a sum of what has no common source")
        return self.path(fork, start) + [_skip(self.path(first, fork), self.path(second, fork))]

    def position(self, node: Any) -> list[Layer]:
        values = _attribute(self.module, node.target)
        if values.ndim == 3 and values.shape[0] == 1:
            values = values[0]
        if values.ndim != 2:
            return self.reader.refuse(self.where(node), f"a sum with {tuple(values.shape)} numbers")
        return [Layer("position", {"weight": values}, "position")]

    def step(self, node: Any) -> list[Layer]:
        name = _name(node)
        if node.op == "call_module":
            return self.module_step(node)
        if name == "getitem":
            return self.item(node)
        if name in _POINTWISE or name == "relu_":
            return self.pointwise(node, name.rstrip("_"))
        if name in ("flatten", "view", "reshape"):
            return self.flat(node, name)
        if name == "mean":
            along = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else None)
            known = along in (1, (1,), [1], -2, (-2,), [-2], (2, 3), [2, 3], (-1, -2), (-2, -1), [-2, -1])
            return [Layer("gap", None, "gap")] if known else self.unknown(node)
        if name in ("dropout", "contiguous"):
            return []
        return self.unknown(node)

    def unknown(self, node: Any) -> list[Layer]:
        return self.reader.refuse(self.where(node), f"{_name(node)}()")

    def module_step(self, node: Any) -> list[Layer]:
        child = self.module.get_submodule(node.target)
        others = [a for a in [*node.args[1:], *node.kwargs.values()] if a is not None]
        masks = [a for a in others if getattr(a, "op", "") == "get_attr"]
        causal = bool(masks) and all(_is_causal(_attribute(self.module, a.target)) for a in masks)
        strange = [a for a in others if hasattr(a, "op") and a is not node.args[0] and a not in masks]
        if strange or (masks and not causal):
            return self.reader.refuse(self.where(node), f"{type(child).__name__} of several inputs, or with a mask that is not causal")
        if not masks and (node.kwargs.get("is_causal") or node.kwargs.get("attn_mask") is not None):
            return self.reader.refuse(self.where(node), "is_causal without its mask")
        return self.reader.read(child, _join(self.place, node.target), causal)

    def item(self, node: Any) -> list[Layer]:
        what = node.args[1]
        if what == 0 and _is_attention(self.module, node.args[0]):
            return []
        whole = slice(None)
        if isinstance(what, tuple) and what[:2] == (whole, -1) and all(w == whole for w in what[2:]):
            return [Layer("last", None, "last")]
        return self.reader.refuse(self.where(node), f"x[{what}]")

    def pointwise(self, node: Any, name: str) -> list[Layer]:
        """Functions with their arguments, by way of the module of that name."""
        import torch

        options = {k: v for k, v in node.kwargs.items() if k != "inplace"}
        modules = {"leaky_relu": "LeakyReLU", "elu": "ELU", "gelu": "GELU", "silu": "SiLU",
                   "softplus": "Softplus", "relu": "ReLU", "tanh": "Tanh", "sigmoid": "Sigmoid",
                   "mish": "Mish"}  # fmt: skip
        made = getattr(torch.nn, modules[name])(*node.args[1:], **options)
        return self.reader.read(made, self.where(node))

    def flat(self, node: Any, name: str) -> list[Layer]:
        rest = list(node.args[1:]) + list(node.kwargs.values())
        known = rest == [1] if name == "flatten" else len(rest) == 2 and rest[1] == -1
        return [Layer("flatten", None, "Flatten")] if known else self.unknown(node)

    def where(self, node: Any) -> str:
        return _join(self.place, node.target if node.op == "call_module" else node.name)


def _name(node: Any) -> str:
    return getattr(node.target, "__name__", None) or str(node.target)


def _ancestors(node: Any) -> set[Any]:
    found: set[Any] = set()
    waiting = [node]
    while waiting:
        for source in waiting.pop().all_input_nodes:
            if source not in found:
                found.add(source)
                waiting.append(source)
    return found


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _is_attention(module: Any, node: Any) -> bool:
    if node.op != "call_module":
        return False
    return type(module.get_submodule(node.target)).__name__ == "MultiheadAttention"


def _is_causal(mask: Any) -> bool:
    """Whether a mask hides from each position what stands behind it, and nothing else."""
    import torch

    if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        return False
    hidden = mask if mask.dtype == torch.bool else torch.isneginf(mask)
    plain = mask.dtype == torch.bool or bool((mask[~hidden] == 0).all())
    return plain and bool((hidden == torch.triu(torch.ones_like(hidden), 1)).all())


# ---- the input's shape ----

_OF_IMAGES = ("Conv2d", "BatchNorm2d", "MaxPool2d", "AvgPool2d", "AdaptiveAvgPool2d")
_OF_SEQUENCES = ("MultiheadAttention", "position", "Embedding", "last")
_NOT_ON_IMAGES = ("Linear", "LayerNorm", "GroupNorm", "RMSNorm", "BatchNorm1d", *_OF_SEQUENCES)
_NOT_ON_SEQUENCES = ("GroupNorm", "BatchNorm1d", *_OF_IMAGES)
_NOT_ON_VECTORS = (*_OF_IMAGES, *_OF_SEQUENCES, "gap")


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
            found.append(_skip(inner, _placed(layer.shortcut, shape, refused)[0]))
            shape = behind
        elif layer.kind == "Flatten" and shape == "vector":
            continue
        else:
            found.append(layer)
        if layer.kind in ("Flatten", "AdaptiveAvgPool2d", "gap", "last"):
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


def _weights(layers: Sequence[Layer], path: str) -> Any:
    """The tensor of a name such as "2.0.weight" or "3.out_proj.weight"; None: there is none."""
    words = path.split(".")
    layer = layers[int(words.pop(0))]
    while layer.inner:
        way = layer.inner
        if words[0] == "shortcut":
            way, words = layer.shortcut, words[1:]
        layer = way[int(words.pop(0))]
    source = layer.source
    for word in words:
        source = source.get(word) if isinstance(source, dict) else getattr(source, word, None)
    return source


def _fill(net: Any, layers: Sequence[Layer]) -> list[str]:
    """Copies the parameters and running statistics of each layer. Returns the names of parameters
    that the module does not have: a norm without a shift, an attention without biases."""
    without = []
    for i in range(lib.far_net_describe(net).tensors):
        tensor = lib.far_net_tensor(net, i)
        name = _lib.words(tensor.name)
        values = _weights(layers, name)
        count = tensor.values.rows * tensor.values.cols
        place = np.frombuffer(ffi.buffer(tensor.values.data, 8 * count), np.float64)
        if values is None:
            place[:] = 0
            without.append(name)
            continue
        values = values.detach().cpu().double().numpy()
        if values.size != count:
            raise errors.ShapeError(f"{name} has {values.size} numbers, not {count}")
        place[:] = values.ravel()
    return without


def _refuse(refused: list[str]) -> None:
    if refused:
        known = ", ".join(sorted({*_LAYERS, *_NOTHING, *_WHOLE}))
        raise errors.ArchError(
            "not known: " + "; ".join(refused) + f". Known are {known}, and modules whose forward "
            "is a chain of such, of functions of these names and of sums f(x) + g(x)"
        )


def _compare(module: Any, predictor: Predictor, net: Any, shape: tuple[int, ...]) -> None:
    """Holds the network against the module at three points: a forward may do what a trace does not
    show."""
    import torch

    info = lib.far_net_describe(net)
    draw = torch.Generator().manual_seed(1)
    if info.vocabulary:
        x = torch.randint(info.vocabulary, (3, info.inputs), generator=draw)
    else:
        x = torch.randn((3, *(shape or (info.inputs,))), generator=draw, dtype=torch.float64)
    theirs = copy.deepcopy(module).cpu().double().eval()
    with torch.no_grad():
        y = theirs(x)
    y = y.permute(0, 2, 3, 1) if y.ndim == 4 else y
    wanted, found = y.reshape(3, -1).numpy(), predictor(x.reshape(3, -1).numpy())
    size = np.abs(wanted).max() + 1e-3
    if wanted.shape != found.shape or not np.abs(wanted - found).max() <= 1e-6 * size:
        raise errors.ArchError(
            "the module, evaluated, is another function than its layers tell: its forward does "
            "something else beside them"
        )


def from_torch(module: Any, input_shape: Any = None) -> Predictor:
    """A torch.nn.Module as a `Predictor`: the same function at evaluation, its weights copied, to be
    evaluated in float64, certified and asked for its tangent kernel.

    Known are the layers of the language, Sequential, TransformerEncoderLayer and TransformerEncoder
    (batch_first), and modules of your own, whose forward is traced: chains of layers and functions,
    sums of two of them, attention(x, x, x), learnt positions. All that is not known is refused at once,
    each with its place. The network is compared with the module at random points before it is
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
    shape = tuple(int(n) for n in np.ravel(input_shape)) if input_shape is not None else ()
    reader = _Reader()
    layers = reader.read(module)
    _refuse(reader.refused)
    if not layers:
        raise errors.ArchError("the module has no layers")
    head, kind = _head(layers, shape)
    layers, _ = _placed(layers, kind, reader.refused)
    _refuse(reader.refused)
    width = None if head else shape[0] if shape else _inputs(layers)
    layers = head + layers
    opts = _lib.Options("far_net_opts", inputs=width, init="torch")
    arch = " ".join(layer.text for layer in layers)
    net = _lib.make(lib.far_net_create, arch.encode(), opts.pointer, destroy=lib.far_net_destroy)
    without = _fill(net, layers)
    predictor = Predictor(of_net(net))
    predictor._without = without
    _compare(module, predictor, net, shape)
    return predictor
