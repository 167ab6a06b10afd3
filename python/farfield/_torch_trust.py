"""Modules of PyTorch that compute something else than their class says: hooks, methods that were
replaced, weights that are computed; and copies without them."""
from __future__ import annotations

import copy
import sys
from typing import Any, Iterator

from ._torch_layers import Refusal, is_torch, join


def is_compiled(m: Any) -> bool:
    """Whether a module is what torch.compile makes of another, its _orig_mod."""
    frames = sys.modules.get("torch._dynamo.eval_frame")
    return frames is not None and type(m) is frames.OptimizedModule


def _by_dynamo(f: Any) -> bool:
    name = getattr(f, "__globals__", {}).get("__name__", "")
    return str(name).startswith("torch._dynamo.")


def parts_of(m: Any, place: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
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
                yield from parts_of(child, place if is_compiled(m) else join(place, name), seen)


ANYTHING = "which may do anything; remove it first"
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
    return f"a forward pre-hook, {ANYTHING}"


def _replaced(m: Any) -> str | None:
    """The name of a method that the module has beside its class, or of a call that its class has of its
    own."""
    import torch

    calls = ("__call__", "_call_impl", "_wrapped_call_impl", "_slow_forward")
    for name in vars(m):
        if name in ("forward", *calls) or (is_torch(m) and callable(getattr(type(m), name, None))):
            if not (name == "forward" and is_compiled(m) and _by_dynamo(vars(m)[name])):
                return name
    if is_torch(m) or is_compiled(m) or isinstance(m, torch.fx.GraphModule):
        return None
    plain = torch.nn.Module
    own = [n for n in calls if getattr(type(m), n, None) is not getattr(plain, n, None)]
    return own[0] if own else None


def changed(m: Any) -> str:
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
        return f"a forward hook, {ANYTHING}"
    name = _replaced(m)
    if name and name in vars(m):
        return f"its {name} is replaced, which may do anything; write a class with that forward"
    if name:
        return f"its class replaces {name}, which may do anything; write a forward"
    compiled = vars(m).get("_compiled_call_impl")
    if compiled is not None and not _by_dynamo(compiled):
        return f"_compiled_call_impl is replaced, {ANYTHING}"
    for name, tensor in {**vars(m), **m._parameters, **m._buffers}.items():
        if isinstance(tensor, torch.Tensor):
            if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
                return f"{name} is a {type(tensor).__name__}, not a plain tensor"
            if not tensor.is_leaf:
                return f"{name} is computed from other tensors; make it a Parameter or a buffer"
    return ""


def quiet_copy(module: Any) -> Any:
    """The module once more, at evaluation, without hooks and torch.compile. Attribute by attribute: by
    copy.deepcopy a class may make something else of it."""
    import torch

    parts = list(parts_of(module))
    twins = {id(part): object.__new__(type(part)) for _, part in parts}
    for _, part in reversed(parts):
        if is_compiled(part):
            twins[id(part)] = twins[id(part._modules["_orig_mod"])]
    memo = dict(twins)
    for place, part in parts:
        if is_compiled(part):
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
    for place, part in parts_of(twin):
        if part.training:
            raise Refusal(f"{place or 'the module'}: stays in training mode after .eval()")
    return twin
