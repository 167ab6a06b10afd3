"""Traced forwards of PyTorch as chains of layers and sums."""
from __future__ import annotations

import functools
import inspect
import operator
from typing import Any

from ._torch_layers import POINTWISE, Layer, Refusal, is_torch, join, skip


def has_trace(m: Any) -> bool:
    """Whether a module calls others in its forward: those of torch.nn alone are layers."""
    return not is_torch(m) or type(m).__name__ == "Sequential"


def trace(m: Any, whole: bool = False) -> Any:
    """The graph of a forward of one input, all further arguments as they are by default. whole: through
    the modules inside that are not of torch.nn; else none is looked into."""
    import torch

    class Tracer(torch.fx.Tracer):  # type: ignore[name-defined,misc]
        def is_leaf_module(self, child: Any, name: str) -> bool:
            return not whole or not has_trace(child)

        def create_args_for_root(self, forward: Any, is_module: bool, concrete: Any = None) -> Any:
            return forward, [self.root, self.create_proxy("placeholder", "x", (), {})]

    return Tracer().trace(m)


class Graph:
    """A traced forward, walked from its output back to its input."""

    def __init__(self, reader: Any, module: Any, place: str, graph: Any) -> None:
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
                return self.path(value, start) + [skip(self.path(other, value))]
        if not hasattr(first, "op") or not hasattr(second, "op"):
            return self.reader.refuse(self.where(node), "a sum with a number")
        shared = _ancestors(first) & _ancestors(second)
        fork = next((n for n in reversed(self.nodes) if n in shared), None)
        if fork is None:
            return self.reader.refuse(self.where(node), "a sum of what has no common source")
        return self.path(fork, start) + [skip(self.path(first, fork), self.path(second, fork))]

    def position(self, node: Any) -> list[Layer]:
        values = attribute(self.module, node.target)
        if values.ndim == 3 and values.shape[0] == 1:
            values = values[0]
        if values.ndim != 2:
            return self.reader.refuse(self.where(node), f"a sum with {tuple(values.shape)} numbers")
        place = join(self.place, node.target)
        return [Layer("position", {"weight": values}, "position", place=place)]

    def step(self, node: Any) -> list[Layer]:
        name = _name(node)
        if node.op == "call_module":
            return self.module_step(node)
        if name == "getitem":
            return self.item(node)
        if name in POINTWISE:
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
        place = join(self.place, node.target)
        try:
            if is_torch(child) and type(child).__name__ in _MASKS:
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
            getattr(mask, "op", "") == "get_attr" and _is_causal(attribute(self.module, mask.target))
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
            made = getattr(torch.nn, POINTWISE[name])(*node.args[1:], **options)
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
        return join(self.place, node.target if node.op == "call_module" else node.name)


@functools.lru_cache(None)
def functions() -> dict[int, str]:
    """What a trace may call, by the function itself: one of others may have the same name."""
    import torch

    F = torch.nn.functional
    found = {"add": (operator.add, operator.iadd, torch.add), "getitem": (operator.getitem,),
             "getattr": (getattr,), "mean": (torch.mean,), "flatten": (torch.flatten,),
             "reshape": (torch.reshape,), "dropout": (F.dropout,)}  # fmt: skip
    table = {id(f): name for name, functions in found.items() for f in functions}
    for name in POINTWISE:
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
    return functions().get(id(node.target), "") if node.op == "call_function" else ""


def _shown(node: Any) -> str:
    name = getattr(node.target, "__name__", None) or str(node.target)
    if node.op == "call_module":
        return name
    home = getattr(node.target, "__module__", None) or ""
    strange = node.op == "call_function" and not _name(node) and name in (*POINTWISE, "add", "mean")
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


def attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _is_attention(module: Any, node: Any) -> bool:
    if node.op != "call_module":
        return False
    child = module.get_submodule(node.target)
    return is_torch(child) and type(child).__name__ == "MultiheadAttention"


def _is_causal(mask: Any) -> bool:
    """Whether a mask hides from each position what stands behind it, and nothing else."""
    import torch

    if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        return False
    hidden = mask if mask.dtype == torch.bool else torch.isneginf(mask)
    plain = mask.dtype == torch.bool or bool((mask[~hidden] == 0).all())
    return plain and bool((hidden == torch.triu(torch.ones_like(hidden), 1)).all())
