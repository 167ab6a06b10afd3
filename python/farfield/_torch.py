"""Modules of PyTorch as predictors: layers that are known, Sequentials of them, and modules of your
own, whose forward is traced."""
from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import operator
import sys
from typing import Any, Callable, Iterator, NamedTuple, Sequence

import numpy as np

from . import _lib, errors
from ._fit import of_net
from ._lib import ffi, lib
from ._predictor import Predictor


class Layer(NamedTuple):
    """A layer as text, where its weights are, its kind, what is inside (a skip, its shortcut), and its
    place in the module."""

    text: str
    source: Any = None
    kind: str = ""
    inner: Sequence[Any] = ()
    shortcut: Sequence[Any] = ()
    place: str = ""


class Refusal(Exception):
    """Why a module has no translation."""


def _is_torch(m: Any) -> bool:
    """Whether a module is of a class of torch.nn: that class itself, not another of its name."""
    import torch

    return type(m) is getattr(torch.nn, type(m).__name__, None)


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place and name else place or name


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


def _affine(m: Any) -> str:
    """By the weights that it has: its forward does not look at elementwise_affine."""
    if m.weight is None and getattr(m, "bias", None) is not None:
        raise Refusal(f"{type(m).__name__} with a bias and no weight")
    return "" if m.weight is None else ", affine"


def _ln(m: Any) -> str:
    if len(m.normalized_shape) != 1:
        raise Refusal(f"LayerNorm over {tuple(m.normalized_shape)}, where only channels are known")
    return f"ln(eps={_number(m.eps)}{_affine(m)})"


def _group(m: Any) -> str:
    return f"ln(groups={m.num_groups}, eps={_number(m.eps)}{_affine(m)})"


def _rms_eps(m: Any) -> float:
    """None is that of the type of the numbers; of halves it depends on the version of PyTorch."""
    import torch

    if m.eps is not None:
        return m.eps
    dtype = torch.get_default_dtype() if m.weight is None else m.weight.dtype
    if dtype not in (torch.float32, torch.float64):
        raise Refusal(f"RMSNorm with eps=None in {dtype}; give it a number")
    return torch.finfo(dtype).eps


def _rms(m: Any) -> str:
    if len(m.normalized_shape) != 1:
        raise Refusal(f"RMSNorm over {tuple(m.normalized_shape)}, where only channels are known")
    return f"rms(eps={_number(_rms_eps(m))}{_affine(m)})"


def _batch(m: Any) -> str:
    if not m.track_running_stats or m.running_mean is None or m.running_var is None:
        raise Refusal("BatchNorm without running statistics, which is no function of one input")
    return f"batchnorm(eps={_number(m.eps)}{_affine(m)})"


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
    if m.threshold < 20:  # beyond it PyTorch takes z for log(1 + exp(z)): at 20, 2.1e-9 less
        raise Refusal(f"Softplus with threshold={m.threshold}, where 20 or more is known")
    return "softplus"


def _embed(m: Any) -> str:
    if m.max_norm is not None:
        raise Refusal("Embedding with max_norm")
    return f"embed({m.embedding_dim})"


def _attention(m: Any, causal: bool = False) -> str:
    if not m.batch_first:
        raise Refusal("MultiheadAttention without batch_first=True")
    odd = m.kdim != m.embed_dim or m.vdim != m.embed_dim or not m._qkv_same_embed_dim
    if odd or m.bias_k is not None or m.bias_v is not None or m.add_zero_attn:
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
_POINTWISE = {
    "relu": "ReLU", "leaky_relu": "LeakyReLU", "tanh": "Tanh", "gelu": "GELU", "silu": "SiLU",
    "sigmoid": "Sigmoid", "elu": "ELU", "softplus": "Softplus", "mish": "Mish",
}  # fmt: skip


# ---- modules that compute something else than their class says ----


def _is_compiled(m: Any) -> bool:
    """Whether a module is what torch.compile makes of another, its _orig_mod."""
    frames = sys.modules.get("torch._dynamo.eval_frame")
    return frames is not None and type(m) is frames.OptimizedModule


def _by_dynamo(f: Any) -> bool:
    name = getattr(f, "__globals__", {}).get("__name__", "")
    return str(name).startswith("torch._dynamo.")


def _parts(m: Any, place: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """Places and modules: the module itself and all inside, each once."""
    import torch

    seen = set() if seen is None else seen
    if id(m) in seen:
        return
    seen.add(id(m))
    yield place, m
    if not isinstance(m, torch.jit.ScriptModule):
        for name, child in m._modules.items():
            if child is not None:
                yield from _parts(child, place if _is_compiled(m) else _join(place, name), seen)


_ANYTHING = "which may do anything; remove it first"
_HOOKS = {
    "WeightNorm": "weight_norm, a hook; torch.nn.utils.remove_weight_norm(module, {name!r}) "
    "makes the weight a plain one",
    "SpectralNorm": "spectral_norm, a hook; torch.nn.utils.remove_spectral_norm(module, {name!r}) "
    "makes the weight a plain one",
    "BasePruningMethod": "pruning, a hook; torch.nn.utils.prune.remove(module, {name!r}) makes the "
    "weight a plain one",
}


def _hook(hook: Any) -> str:
    """A forward pre-hook in words: those of torch.nn.utils can be undone."""
    for kind in type(hook).__mro__:
        if kind.__name__ in _HOOKS and kind.__module__.startswith("torch.nn.utils."):
            name = getattr(hook, "name", None) or getattr(hook, "_tensor_name", "weight")
            return _HOOKS[kind.__name__].format(name=name)
    return f"a forward pre-hook, {_ANYTHING}"


def _replaced(m: Any) -> str | None:
    """The name of a method that the module has beside its class, or of a call that its class has of its
    own."""
    import torch

    calls = ("__call__", "_call_impl", "_wrapped_call_impl", "_slow_forward")
    for name in vars(m):
        if name in ("forward", *calls) or (_is_torch(m) and callable(getattr(type(m), name, None))):
            if not (name == "forward" and _is_compiled(m) and _by_dynamo(vars(m)[name])):
                return name
    if _is_torch(m) or _is_compiled(m) or isinstance(m, torch.fx.GraphModule):
        return None
    plain = torch.nn.Module
    own = [n for n in calls if getattr(type(m), n, None) is not getattr(plain, n, None)]
    return own[0] if own else None


def _changed(m: Any) -> str:
    """Why a module may compute something else than its class says; "": it does not."""
    import torch

    if isinstance(m, torch.jit.ScriptModule):
        return "TorchScript; give the module that it was made of"
    if isinstance(m, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
        return f"{type(m).__name__}; give its .module"
    lazy: Any = torch.nn.modules.lazy.LazyModuleMixin
    if isinstance(m, lazy) and m.has_uninitialized_params():
        return f"{type(m).__name__}, whose weights have no shape yet; call the module once"
    if torch.nn.utils.parametrize.is_parametrized(m):
        names = ", ".join(m.parametrizations)
        return (
            f"{names} parametrized; torch.nn.utils.parametrize.remove_parametrizations(module, "
            f"{next(iter(m.parametrizations))!r}) makes it a plain one"
        )
    for hook in vars(m).get("_forward_pre_hooks", {}).values():
        return _hook(hook)
    if vars(m).get("_forward_hooks"):
        return f"a forward hook, {_ANYTHING}"
    name = _replaced(m)
    if name and name in vars(m):
        return f"its {name} is replaced, which may do anything; write a class with that forward"
    if name:
        return f"its class replaces {name}, which may do anything; write a forward"
    compiled = vars(m).get("_compiled_call_impl")
    if compiled is not None and not _by_dynamo(compiled):
        return f"_compiled_call_impl is replaced, {_ANYTHING}"
    for name, tensor in {**vars(m), **m._parameters, **m._buffers}.items():
        if isinstance(tensor, torch.Tensor):
            if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
                return f"{name} is a {type(tensor).__name__}, not a plain tensor"
            if not tensor.is_leaf:
                return f"{name} is computed from other tensors; make it a Parameter or a buffer"
    return ""


def _copy(module: Any) -> Any:
    """The module once more, at evaluation, without hooks and torch.compile. Attribute by attribute: by
    copy.deepcopy a class may make something else of it."""
    import torch

    parts = list(_parts(module))
    twins = {id(part): object.__new__(type(part)) for _, part in parts}
    for _, part in reversed(parts):
        if _is_compiled(part):
            twins[id(part)] = twins[id(part._modules["_orig_mod"])]
    memo = dict(twins)
    for place, part in parts:
        if _is_compiled(part):
            continue
        kept = {name: value for name, value in vars(part).items() if name != "_compiled_call_impl"}
        kept.update((k, v) for k, v in vars(torch.nn.Module()).items() if "hook" in k)
        try:
            vars(twins[id(part)]).update(copy.deepcopy(kept, memo))
        except Exception as error:  # whatever attributes of others raise
            why = str(error).split(". ")[0]
            raise Refusal(f"{place or 'the module'}: cannot be copied ({why})") from None
    twin = twins[id(module)]
    try:
        twin.eval()
    except Exception as error:
        raise Refusal(f"the module: cannot be put into evaluation mode ({error})") from None
    for place, part in _parts(twin):
        if part.training:
            raise Refusal(f"{place or 'the module'}: stays in training mode after .eval()")
    return twin


# ---- modules made of modules ----


def _trace(m: Any, whole: bool = False) -> Any:
    """The graph of a forward of one input, all further arguments as they are by default. whole: through
    the modules inside that are not of torch.nn; else none is looked into."""
    import torch

    class Tracer(torch.fx.Tracer):  # type: ignore[name-defined,misc]
        def is_leaf_module(self, child: Any, name: str) -> bool:
            return not whole or not _has_trace(child)

        def create_args_for_root(self, forward: Any, is_module: bool, concrete: Any = None) -> Any:
            return forward, [self.root, self.create_proxy("placeholder", "x", (), {})]

    return Tracer().trace(m)


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
            self.changed[""] = f"a forward hook of all modules, {_ANYTHING}"
        for place, part in _parts(module):
            why = _changed(part)
            if why:
                self.changed.setdefault(place, why)

    def translate(self, module: Any) -> tuple[list[Layer], Any]:
        """A module as layers, read from a copy; and the graph of its forward, None if it has none."""
        self.look(module)
        if "" in self.changed:
            return [], None
        try:
            quiet = _copy(module)
        except Refusal as why:
            if self.changed:
                return [], None
            raise errors.ArchError(f"refused: {why}") from None
        graph, fault = None, ""
        try:
            graph = _trace(quiet, whole=True) if _has_trace(quiet) else None
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
            known = ", ".join(sorted({*_LAYERS, *_NOTHING, *_WHOLE}))
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
            why = self.changed.get(place) or _changed(m)
            if why:
                self.changed[place] = why
                return []
            if not _is_torch(m):
                return self.read_own(m, place)
            if kind == "Sequential":
                return self.read_children(m, place)
            if kind == "TransformerEncoder":
                return self.read_encoder(m, place, causal)
            if kind == "TransformerEncoderLayer":
                return self.read_block(m, place, causal)
            if kind == "MultiheadAttention":
                return [Layer(_attention(m, causal), m, kind, place=place)]
            if kind in _NOTHING:
                return []
            if kind not in _LAYERS:
                return self.refuse(place, kind)
            return [Layer(_LAYERS[kind](m), m, kind, place=place)]
        except Refusal as refusal:
            return self.refuse(place, str(refusal))

    def read_children(self, m: Any, place: str) -> list[Layer]:
        parts = [self.read(child, _join(place, name)) for name, child in m._modules.items()]
        return [layer for part in parts for layer in part]

    def read_part(self, m: Any, place: str, *kinds: str) -> list[Layer]:
        """A part of a module of torch.nn, which may compute with its weights and not call it."""
        if _is_torch(m) and type(m).__name__ in kinds:
            return self.read(m, place)
        return self.refuse(place, f"{type(m).__name__} in place of {kinds[0]}")

    def read_block(self, m: Any, place: str, causal: bool) -> list[Layer]:
        """A TransformerEncoderLayer: two skips, norms in front of them or behind."""

        def part(name: str, *kinds: str) -> list[Layer]:
            return self.read_part(getattr(m, name), _join(place, name), *kinds)

        if not _is_torch(m.self_attn) or type(m.self_attn).__name__ != "MultiheadAttention":
            return part("self_attn", "MultiheadAttention")
        nothing = ("Dropout", "Identity")
        attention = self.read(m.self_attn, _join(place, "self_attn"), causal)
        attention += part("dropout1", *nothing)
        activation = self.read_activation(m, _join(place, "activation"))
        forward = [*part("linear1", "Linear"), *activation, *part("dropout", *nothing)]
        forward += [*part("linear2", "Linear"), *part("dropout2", *nothing)]
        norm1, norm2 = part("norm1", "LayerNorm"), part("norm2", "LayerNorm")
        if m.norm_first:
            return [_skip(norm1 + attention), _skip(norm2 + forward)]
        return [_skip(attention), *norm1, _skip(forward), *norm2]

    def read_activation(self, m: Any, place: str) -> list[Layer]:
        """Of a TransformerEncoderLayer, which keeps it once more as a number, for its fast path."""
        import torch

        f = m.activation
        name = _functions().get(id(f), "")
        if name in _POINTWISE:
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
            inside = _join(place, f"layers.{i}")
            if type(block).__name__ == "TransformerEncoderLayer":
                layers += self.read(block, inside, causal)
            else:
                self.refuse(inside, f"{type(block).__name__} in place of TransformerEncoderLayer")
        return layers + ([] if m.norm is None else self.read(m.norm, _join(place, "norm")))

    def read_own(self, m: Any, place: str) -> list[Layer]:
        """A module with a forward of its own, traced with all modules inside as they are."""
        import torch

        chain = torch.nn.Sequential
        if type(m).forward is chain.forward and type(m).__iter__ is chain.__iter__:
            return self.read_children(m, place)
        try:
            graph = _trace(m)
        except Exception as error:  # whatever a forward of others raises
            return self.refuse(place, f"{type(m).__name__}, whose forward cannot be traced ({error})")
        return _Graph(self, m, place, graph).layers()


def _has_trace(m: Any) -> bool:
    """Whether a module calls others in its forward: those of torch.nn alone are layers."""
    return not _is_torch(m) or type(m).__name__ == "Sequential"


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
        self.start = next(n for n in self.nodes if n.op == "placeholder")
        self.output = next(n for n in self.nodes if n.op == "output").args[0]
        self.walked: set[Any] = set()

    def layers(self) -> list[Layer]:
        if not self.start.users or not hasattr(self.output, "op"):
            return self.reader.refuse(self.place, "a forward of one input and one output is known")
        before = len(self.reader.refused)
        layers = self.path(self.output, self.start)
        beside = [n for n in self.nodes if n not in self.walked and not _is_size(n)]
        if len(self.reader.refused) == before:
            for node in beside:  # it may write into what is used
                self.reader.refuse(self.where(node), f"{_shown(node)}, whose result is not used")
        return layers

    def path(self, node: Any, start: Any) -> list[Layer]:
        """The layers from one value to another."""
        if node is start:
            return []
        self.walked.add(node)
        if node.op == "placeholder" or not node.args or not hasattr(node.args[0], "op"):
            return self.reader.refuse(self.where(node), "not a chain of layers and residual sums")
        if _name(node) == "add":
            return self.sum(node, start)
        return self.path(node.args[0], start) + self.step(node)

    def sum(self, node: Any, start: Any) -> list[Layer]:
        if len(node.args) != 2 or node.kwargs:
            return self.unknown(node)
        first, second = node.args
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
        place = _join(self.place, node.target)
        return [Layer("position", {"weight": values}, "position", place=place)]

    def step(self, node: Any) -> list[Layer]:
        name = _name(node)
        if node.op == "call_module":
            return self.module_step(node)
        if name == "getitem":
            return self.item(node)
        if name in _POINTWISE:
            return self.pointwise(node, name)
        if name in ("flatten", "view", "reshape"):
            return self.flat(node, name)
        if name == "mean":
            return self.mean(node)
        if name == "contiguous" or (name == "dropout" and _is_off(node)):
            return []
        return self.unknown(node)

    def unknown(self, node: Any) -> list[Layer]:
        return self.reader.refuse(self.where(node), _shown(node))

    def module_step(self, node: Any) -> list[Layer]:
        child = self.module.get_submodule(node.target)
        place = _join(self.place, node.target)
        try:
            if _is_torch(child) and type(child).__name__ in _MASKS:
                causal = self.is_masked(child, node)
            elif _more_is_default(child, node):
                causal = False
            else:
                raise Refusal(f"{type(child).__name__} of more than one argument")
        except Refusal as why:
            return self.reader.refuse(place, str(why))
        return self.reader.read(child, place, causal)

    def is_masked(self, child: Any, node: Any) -> bool:
        """Whether attention is given the causal mask; any other argument is refused."""
        kind = type(child).__name__
        given = _arguments(child, node)
        if given is None:
            raise Refusal(f"{kind} of other arguments than its own")
        mask, padding = (given.pop(name, None) for name in _MASKS[kind])
        inputs = [given.pop(n) for n in ("query", "key", "value", "src") if n in given]
        strange = any(value is not node.args[0] for value in inputs) or padding is not None
        hidden = mask is None or (
            getattr(mask, "op", "") == "get_attr" and _is_causal(_attribute(self.module, mask.target))
        )
        if strange or not hidden or any(hasattr(value, "op") for value in given.values()):
            raise Refusal(f"{kind} of several inputs, or with a mask that is not causal")
        if mask is None and given.get("is_causal"):
            raise Refusal("is_causal without its mask")
        return mask is not None

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
        if any(hasattr(a, "op") for a in [*node.args[1:], *options.values()]):
            return self.unknown(node)
        try:
            made = getattr(torch.nn, _POINTWISE[name])(*node.args[1:], **options)
        except TypeError:  # such as out=
            return self.unknown(node)
        return self.reader.read(made, self.where(node))

    def flat(self, node: Any, name: str) -> list[Layer]:
        rest, named = list(node.args[1:]), dict(node.kwargs)
        if name == "flatten":
            start = rest[0] if rest else named.pop("start_dim", 0)
            end = rest[1] if len(rest) > 1 else named.pop("end_dim", -1)
            known = (start, end) == (1, -1)
        else:
            known = len(rest) == 2 and _is_rows(rest[0]) and rest[1] == -1
        return [Layer("flatten", None, "Flatten")] if known and not named else self.unknown(node)

    def mean(self, node: Any) -> list[Layer]:
        """Over positions or pixels. keepdim changes nothing: it keeps a dimension of one number."""
        named = {k: v for k, v in node.kwargs.items() if k != "keepdim"}
        along = node.args[1] if len(node.args) > 1 else named.pop("dim", None)
        along = (along,) if isinstance(along, int) else tuple(along or ())
        if not named and along in ((1,), (-2,)):
            return [Layer("gap", None, "mean")]
        if not named and along in ((2, 3), (3, 2), (-1, -2), (-2, -1)):
            return [Layer("gap", None, "gap")]
        return self.unknown(node)

    def where(self, node: Any) -> str:
        return _join(self.place, node.target if node.op == "call_module" else node.name)


@functools.lru_cache(None)
def _functions() -> dict[int, str]:
    """What a trace may call, by the function itself: one of others may have the same name."""
    import torch

    F = torch.nn.functional
    found = {"add": (operator.add, operator.iadd, torch.add), "getitem": (operator.getitem,),
             "getattr": (getattr,), "mean": (torch.mean,), "flatten": (torch.flatten,),
             "reshape": (torch.reshape,), "dropout": (F.dropout,)}  # fmt: skip
    table = {id(f): name for name, functions in found.items() for f in functions}
    for name in _POINTWISE:
        for home in (torch, F):
            for f in (getattr(home, name, None), getattr(home, name + "_", None)):
                if f is not None:
                    table[id(f)] = name
    return table


_METHODS = {
    "add", "add_", "relu", "relu_", "tanh", "tanh_", "sigmoid", "sigmoid_", "view", "reshape",
    "flatten", "mean", "contiguous", "size",
}  # fmt: skip


def _name(node: Any) -> str:
    """The function or method that a node calls; "": none that is known."""
    if node.op == "call_method":
        return node.target.rstrip("_") if node.target in _METHODS else ""
    return _functions().get(id(node.target), "") if node.op == "call_function" else ""


def _shown(node: Any) -> str:
    name = getattr(node.target, "__name__", None) or str(node.target)
    if node.op == "call_module":
        return name
    home = getattr(node.target, "__module__", None) or ""
    strange = node.op == "call_function" and not _name(node) and name in (*_POINTWISE, "add", "mean")
    return f"{name}() of {home}" if strange else f"{name}()"


def _is_size(node: Any) -> bool:
    """Whether a node only asks how large a value is, or takes a part of it."""
    if node.op in ("placeholder", "get_attr", "output") or _name(node) in ("size", "getitem"):
        return True
    return _is_shape(node)


def _is_shape(node: Any) -> bool:
    """Whether a node is x.shape or x.size()."""
    if _name(node) == "getattr":
        return node.args[1] == "shape"
    return _name(node) == "size" and len(node.args) == 1


def _is_rows(value: Any) -> bool:
    """Whether a value is x.size(0) or x.shape[0]."""
    if not hasattr(value, "op") or not value.args:
        return False
    if _name(value) == "size":
        return value.args[1:] == (0,) and not value.kwargs
    return _name(value) == "getitem" and value.args[1] == 0 and _is_shape(value.args[0])


def _is_off(node: Any) -> bool:
    """Whether a dropout does nothing: its arguments are x, p, training, inplace."""
    return (node.args[2] if len(node.args) > 2 else node.kwargs.get("training", True)) is False


_MASKS = {  # the mask, and that of rows of different lengths
    "MultiheadAttention": ("attn_mask", "key_padding_mask"),
    "TransformerEncoder": ("mask", "src_key_padding_mask"),
    "TransformerEncoderLayer": ("src_mask", "src_key_padding_mask"),
}


def _arguments(child: Any, node: Any) -> dict[str, Any] | None:
    """What a module is called with, by name."""
    try:
        given = inspect.signature(type(child).forward).bind(child, *node.args, **node.kwargs)
    except TypeError:
        return None
    return dict(list(given.arguments.items())[1:])


def _more_is_default(child: Any, node: Any) -> bool:
    """Whether all that a module is given behind its input is what it would be anyway."""
    if len(node.args) == 1 and not node.kwargs:
        return True
    given = _arguments(child, node)
    if given is None:
        return False
    parameters = inspect.signature(type(child).forward).parameters
    for name, value in list(given.items())[1:]:
        default = parameters[name].default
        plain = value is None or isinstance(value, (bool, int, float, str))
        if not plain or type(value) is not type(default) or value != default:
            return False
    return True


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
    child = module.get_submodule(node.target)
    return _is_torch(child) and type(child).__name__ == "MultiheadAttention"


def _is_causal(mask: Any) -> bool:
    """Whether a mask hides from each position what stands behind it, and nothing else."""
    import torch

    if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        return False
    hidden = mask if mask.dtype == torch.bool else torch.isneginf(mask)
    plain = mask.dtype == torch.bool or bool((mask[~hidden] == 0).all())
    return plain and bool((hidden == torch.triu(torch.ones_like(hidden), 1)).all())


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
            found.append(_skip(inner, _placed(layer.shortcut, shape, refused)[0]))
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
    return source, _join(layer.place, ".".join(words))


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


# ---- the module against the network ----


def _run(module: Any, graph: Any, x: Any) -> Any:
    """A graph node by node, refusing values that are used after something was written into them, or
    into what shares their memory."""
    import torch

    values: dict[Any, Any] = {}
    versions: dict[Any, int] = {}

    def value(node: Any) -> Any:
        found = values[node]
        if isinstance(found, torch.Tensor) and found._version != versions[node]:
            raise Refusal(f"{node.name} is used after a function in place has changed it")
        return found

    for node in graph.nodes:
        args, kwargs = (torch.fx.node.map_arg(a, value) for a in (node.args, node.kwargs))
        if node.op == "output":
            return args[0]
        if node.op == "placeholder":
            made = x
        elif node.op == "get_attr":
            made = _attribute(module, node.target)
        elif node.op == "call_module":
            made = module.get_submodule(node.target)(*args, **kwargs)
        elif node.op == "call_method":
            made = getattr(args[0], node.target)(*args[1:], **kwargs)
        else:
            made = node.target(*args, **kwargs)
        values[node] = made
        versions[node] = made._version if isinstance(made, torch.Tensor) else 0
    return None


def _record(f: Callable[[Any], Any], x: Any) -> list[str]:
    """What f does with numbers: each operation of PyTorch that x goes into, and what else goes in."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    labels = {id(x): "x"}  # of tensors that depend on x, by the operation that they come from
    shared = {x.untyped_storage().data_ptr(): [x]}  # these tensors by their memory, and kept in it
    lines: list[str] = []

    def alike(value: Any) -> list[Any]:
        """The tensors of x that share the memory of a value."""
        is_tensor = isinstance(value, torch.Tensor)
        return shared.get(value.untyped_storage().data_ptr(), []) if is_tensor else []

    def words(value: Any) -> str:
        if not isinstance(value, torch.Tensor):
            return str(value)
        if id(value) in labels or isinstance(value, torch.nn.Parameter):
            return labels.get(id(value), f"parameter {id(value)}")
        origin = "".join(labels[id(t)] for t in alike(value)[:1]) or repr(float(value.sum()))
        return f"{origin}{tuple(value.shape)}{value.stride()}{value.storage_offset()}"

    def note(tensor: Any, written: bool) -> None:
        """What is written in place is a new value, and all that shares its memory is another."""
        group = shared.setdefault(tensor.untyped_storage().data_ptr(), [])
        for other in group if written else ():
            labels[id(other)] += f"~{len(lines)}"
        labels[id(tensor)] = f"#{len(lines)}"
        group.append(tensor)

    class Recorder(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            given = tree_flatten((args, kwargs or {}))[0]
            line = ", ".join(map(words, given)) if any(map(alike, given)) else None
            made = op(*args, **kwargs or {})
            if line is not None:
                results = [t for t in tree_flatten(made)[0] if isinstance(t, torch.Tensor)]
                written = any(t is a for t in results for a in given)
                lines.append(f"{str(op).replace('_.', '.') if written else op}({line})")
                for tensor in results:
                    note(tensor, written)
            return made

    with Recorder():
        f(x)
    return lines


def _state(module: Any) -> dict[str, Any]:
    """What a forward must leave as it is: tensors and plain values of all modules."""
    import torch

    found: dict[str, Any] = {}
    for place, part in _parts(module):
        for values in (vars(part), part._parameters, part._buffers):
            for name, value in values.items():
                if isinstance(value, torch.Tensor):
                    found[_join(place, name)] = (id(value), value._version)
                elif isinstance(value, (bool, int, float, str)):
                    found[_join(place, name)] = repr(value)  # a NaN is itself
    return found


def _watch(module: Any, graph: Any, x: Any) -> None:
    """Refuses a module that does something else on numbers than in its trace, because its forward tells
    them apart, remembers, or writes into what it uses again."""
    import torch

    before = _state(module)
    first = _record(module, x.clone())
    between = _state(module)
    if _record(module, x.clone()) != first:
        raise Refusal("its forward does not do the same when it is called again")
    after = _state(module)
    known = {name: value for name, value in between.items() if not isinstance(value, tuple)}
    known.update(before)
    changed = [name for name, value in known.items() if after.get(name) != value]
    if changed:
        raise Refusal(f"its forward changes {', '.join(changed)}")
    if not _has_trace(module):
        return
    attributes = set(vars(module))
    with torch.enable_grad():
        text = str(_trace(module, whole=True))
    for name in set(vars(module)) - attributes:  # constants, which get the same names again
        del vars(module)[name]
    found = _trace(module, whole=True)
    if str(found) != str(graph):
        raise Refusal("its forward does something else in float64")
    if str(found) != text:
        raise Refusal("its forward does something else with gradients")
    if _record(lambda x: _run(module, found, x), x.clone()) != first:
        raise Refusal("its forward does something else on numbers than when it is traced")


def _compare(module: Any, graph: Any, predictor: Predictor, net: Any, shape: tuple[int, ...]) -> None:
    """Holds the network against the module: what it does, by its operations, and its values, near the
    origin and far from it. A forward may do what a trace does not show."""
    import torch

    info = lib.far_net_describe(net)
    draw = torch.Generator("cpu").manual_seed(1)
    sizes = (6, *(shape or (info.inputs,)))
    if info.vocabulary:
        x = torch.randint(info.vocabulary, sizes, generator=draw, device="cpu")
        scale = np.ones(6)
    else:
        x = torch.randn(sizes, generator=draw, dtype=torch.float64, device="cpu")
        scale = np.repeat([1, 1e4, 1e9], 2)
        x *= torch.from_numpy(scale).reshape(6, *[1] * (len(sizes) - 1))
    for _, part in _parts(module):
        if type(part).__name__ == "RMSNorm" and _is_torch(part):
            with contextlib.suppress(Refusal):
                part.eps = _rms_eps(part)  # before the type changes
    try:
        theirs = module.cpu().double()
        _watch(theirs, graph, x[:2])
        y = theirs(x.clone())
        if not isinstance(y, torch.Tensor):
            raise Refusal(f"its forward gives a {type(y).__name__}, not a tensor")
    except Refusal as why:
        raise errors.ArchError(f"the module is another function than its layers tell: {why}") from None
    except Exception as error:  # whatever a forward of others raises
        raise errors.ArchError(
            f"the module cannot be evaluated in float64 on points of shape {sizes}: {error}"
        ) from error
    y = y.permute(0, 2, 3, 1) if y.ndim == 4 else y
    wanted, found = y.reshape(6, -1).numpy(), predictor(x.reshape(6, -1).numpy())
    same = wanted.shape == found.shape
    if same:
        size = np.abs(wanted).max(axis=1) + 1e-3
        same = bool((np.abs(wanted - found).max(axis=1) <= 1e-6 * size + 1e-10 * scale).all())
    if not same:
        raise errors.ArchError(
            "the module, evaluated, is another function than its layers tell: its forward does "
            "something else beside them"
        )


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
    _compare(_copy(module), graph, predictor, net, shape)
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
