"""A module of PyTorch against the network that was read from it: what it does with numbers, operation
by operation, and its values, near the origin and far from it."""
from __future__ import annotations

import contextlib
from typing import Any, Callable

import numpy as np

from . import errors
from ._lib import lib
from ._predictor import Predictor
from ._torch_graph import attribute, has_trace, trace
from ._torch_layers import Refusal, is_torch, join, rms_eps
from ._torch_trust import parts_of


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
            made = attribute(module, node.target)
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
    for place, part in parts_of(module):
        for values in (vars(part), part._parameters, part._buffers):
            for name, value in values.items():
                if isinstance(value, torch.Tensor):
                    found[join(place, name)] = (id(value), value._version)
                elif isinstance(value, (bool, int, float, str)):
                    found[join(place, name)] = repr(value)  # a NaN is itself
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
    if not has_trace(module):
        return
    attributes = set(vars(module))
    with torch.enable_grad():
        text = str(trace(module, whole=True))
    for name in set(vars(module)) - attributes:  # constants, which get the same names again
        del vars(module)[name]
    found = trace(module, whole=True)
    if str(found) != str(graph):
        raise Refusal("its forward does something else in float64")
    if str(found) != text:
        raise Refusal("its forward does something else with gradients")
    if _record(lambda x: _run(module, found, x), x.clone()) != first:
        raise Refusal("its forward does something else on numbers than when it is traced")


def compare(module: Any, graph: Any, predictor: Predictor, net: Any, shape: tuple[int, ...]) -> None:
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
    for _, part in parts_of(module):
        if type(part).__name__ == "RMSNorm" and is_torch(part):
            with contextlib.suppress(Refusal):
                part.eps = rms_eps(part)  # before the type changes
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
