"""Single modules of PyTorch as layers of the language."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence


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


def is_torch(m: Any) -> bool:
    """Whether a module is of a class of torch.nn: that class itself, not another of its name."""
    import torch

    return type(m) is getattr(torch.nn, type(m).__name__, None)


def join(place: str, name: str) -> str:
    return f"{place}.{name}" if place and name else place or name


def skip(inner: list[Layer], shortcut: Sequence[Layer] = ()) -> Layer:
    """x + inner(x), or shortcut(x) + inner(x)."""
    words = [layer.text for layer in inner]
    if shortcut:
        words += ["|", *(layer.text for layer in shortcut)]
    return Layer(f"skip({' '.join(words)})", None, "skip", inner, shortcut)


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


def rms_eps(m: Any) -> float:
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
    return f"rms(eps={_number(rms_eps(m))}{_affine(m)})"


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


def attention_text(m: Any, causal: bool = False) -> str:
    if not m.batch_first:
        raise Refusal("MultiheadAttention without batch_first=True")
    odd = m.kdim != m.embed_dim or m.vdim != m.embed_dim or not m._qkv_same_embed_dim
    if odd or m.bias_k is not None or m.bias_v is not None or m.add_zero_attn:
        raise Refusal("MultiheadAttention with kdim, vdim, add_bias_kv or add_zero_attn")
    return f"attention({m.num_heads}{', causal' if causal else ''})"


LAYERS: dict[str, Callable[[Any], str]] = {
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
NOTHING = ("Identity", "Dropout", "Dropout1d", "Dropout2d")  # at evaluation
WHOLE = ("MultiheadAttention", "Sequential", "TransformerEncoder", "TransformerEncoderLayer")
POINTWISE = {
    "relu": "ReLU", "leaky_relu": "LeakyReLU", "tanh": "Tanh", "gelu": "GELU", "silu": "SiLU",
    "sigmoid": "Sigmoid", "elu": "ELU", "softplus": "Softplus", "mish": "Mish",
}  # fmt: skip
