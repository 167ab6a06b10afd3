"""Finite networks as modules of PyTorch."""
from __future__ import annotations

import math
import re
from typing import Any, Iterator

import numpy as np

try:
    import torch
    from torch import nn
except ImportError as error:
    raise ImportError("to_torch needs PyTorch: pip install 'farfield[torch]'") from error

from . import _lib, errors
from ._lib import ffi, lib

# ---- layers that PyTorch does not have, or has on another axis ----


class Affine(nn.Module):  # type: ignore[misc]
    """shift + scale x: the scaling of a table's columns."""

    def __init__(self, shift: np.ndarray, scale: np.ndarray) -> None:
        super().__init__()
        self.register_buffer("shift", torch.from_numpy(shift.copy()))
        self.register_buffer("scale", torch.from_numpy(scale.copy()))

    def forward(self, x: Any) -> Any:
        return self.shift + self.scale * x


class Standardise(Affine):
    """(x - shift) / scale."""

    def forward(self, x: Any) -> Any:
        return (x - self.shift) / self.scale


class Skip(nn.Module):  # type: ignore[misc]
    """x + body(x), or shortcut(x) + body(x)."""

    def __init__(self, body: Any, shortcut: Any) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x: Any) -> Any:
        return self.shortcut(x) + self.body(x)


class Mean(nn.Module):  # type: ignore[misc]
    """The mean of modules."""

    def __init__(self, members: list[Any]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, x: Any) -> Any:
        return torch.stack([member(x) for member in self.members]).mean(0)


class Pointwise(nn.Module):  # type: ignore[misc]
    """gain f(x)"""

    def __init__(self, name: str, gain: float, *numbers: float) -> None:
        super().__init__()
        self.name, self.gain, self.numbers = name, gain, numbers

    def forward(self, x: Any) -> Any:
        return self.gain * _FUNCTIONS[self.name](x, *self.numbers)

    def extra_repr(self) -> str:
        return f"{self.name}, gain={self.gain:g}"


_FUNCTIONS: dict[str, Any] = {
    "relu": lambda z, p=1.0: torch.relu(z) if p == 1 else torch.where(z > 0, z.clamp(min=0) ** p, 0.0),
    "leaky_relu": lambda z, a: torch.where(z > 0, z, a * z),
    "abs": torch.abs,
    "erf": torch.erf,
    "gelu": nn.functional.gelu,
    "gelu_tanh": lambda z: nn.functional.gelu(z, approximate="tanh"),
    "silu": nn.functional.silu,
    "tanh": torch.tanh,
    "sin": lambda z, w: torch.sin(w * z),
    "identity": lambda z: z,
    "sigmoid": torch.sigmoid,
    "elu": lambda z, a=1.0: torch.where(z > 0, z, a * torch.expm1(z.clamp(max=0))),
    "softplus": lambda z: nn.functional.softplus(z, threshold=1e4),
    "mish": nn.functional.mish,
}


class Channels(nn.Module):  # type: ignore[misc]
    """A module of the last axis on the channels of images, which stand in front of the pixels."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return self.inner(x.movedim(1, -1)).movedim(-1, 1)


class Flat(nn.Module):  # type: ignore[misc]
    """A module of rows x channels, at every position."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return self.inner(x.reshape(-1, x.shape[-1])).reshape(x.shape)


class Attention(nn.Module):  # type: ignore[misc]
    """MultiheadAttention of a sequence with itself."""

    def __init__(self, channels: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(channels, heads, batch_first=True)
        self.causal = causal

    def forward(self, x: Any) -> Any:
        mask = None
        if self.causal:
            size = (x.shape[1], x.shape[1])
            mask = torch.ones(size, dtype=torch.bool, device=x.device).triu(1)
        return self.inner(x, x, x, attn_mask=mask, need_weights=False)[0]


class Tokens(nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return x.long()


class Position(nn.Module):  # type: ignore[misc]
    """x + what is learnt of each position, or sines."""

    def __init__(self, values: Any, learnt: bool) -> None:
        super().__init__()
        if learnt:
            self.weight = nn.Parameter(values)
        else:
            self.register_buffer("weight", values)

    def forward(self, x: Any) -> Any:
        return x + self.weight


class Pool(nn.Module):  # type: ignore[misc]
    """The mean over positions, or the last of them."""

    def __init__(self, image: bool, last: bool) -> None:
        super().__init__()
        self.image, self.last = image, last

    def forward(self, x: Any) -> Any:
        if self.last:
            return x[:, -1]
        return x.mean((2, 3)) if self.image else x.mean(1)


class Pixels(nn.Module):  # type: ignore[misc]
    """Channels behind pixels, as rows of results have them."""

    def forward(self, x: Any) -> Any:
        return x.movedim(1, -1).flatten(1)


# ---- text ----


def _parsed(text: str) -> list[Any]:
    """[(name, numbers, named, flags)], or ("skip", body, shortcut); repetitions written out."""
    tokens = re.findall(r"\]x\d+|[\[\](),=|]|[^\s\[\](),=|]+", text)
    items, rest = _items(tokens, 0)
    assert rest == len(tokens), text
    return items


def _items(tokens: list[str], at: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while at < len(tokens) and tokens[at] not in ")|" and not tokens[at].startswith("]x"):
        name, at = tokens[at], at + 1
        if name == "[":
            inner, at = _items(tokens, at)
            items += inner * int(tokens[at][2:])
            at += 1
        elif name == "skip":
            inner, at = _items(tokens, at + 1)
            shortcut: list[Any] = []
            if tokens[at] == "|":
                shortcut, at = _items(tokens, at + 1)
            items.append(("skip", inner, shortcut))
            at += 1
        else:
            words: list[str] = []
            if at < len(tokens) and tokens[at] == "(":
                end = tokens.index(")", at)
                words, at = "".join(tokens[at + 1 : end]).split(","), end + 1
            items.append((name, *_arguments(words)))
    return items, at


def _arguments(words: list[str]) -> tuple[list[str], dict[str, str], set[str]]:
    named = dict(word.split("=") for word in words if "=" in word)
    plain = [word for word in words if "=" not in word]
    return [w for w in plain if w[0].isdigit() or w[0] in ".-"], named, {
        w for w in plain if not (w[0].isdigit() or w[0] in ".-")
    }  # fmt: skip


# ---- scale of activations in the NTK parametrisation: unit variance ----


def _unit_gain(name: str, numbers: tuple[float, ...]) -> float:
    """1 / sqrt(E phi(u)^2), u ~ N(0, 1), by Gauss-Legendre panels on both sides of 0."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.linspace(0, 14, 57)
    half = (edges[1:] - edges[:-1])[:, None] / 2
    u = (edges[:-1, None] + half * (nodes + 1)).ravel()
    w = (half * weights).ravel() * np.exp(-u * u / 2) / math.sqrt(2 * math.pi)
    total = 0.0
    for side in (u, -u):
        value = _FUNCTIONS[name](torch.from_numpy(side), *numbers).numpy()
        total += float(w @ value**2)
    return 1 / math.sqrt(total)


# ---- the network ----


class _Builder:
    """Layers of a network one after the other; weights as the layers ask for them."""

    def __init__(self, net: Any) -> None:
        self.net = net
        self.info = lib.far_net_describe(net)
        self.scaled = self.info.param == lib.FAR_PARAM_NTK
        self.shape, self.width, self.positions = "vector", int(self.info.inputs), 1
        tensors = [lib.far_net_tensor(net, i) for i in range(self.info.tensors)]
        self.tensors = {_lib.words(t.name): _tensor(t) for t in tensors}

    def build(self, items: list[Any], path: str = "") -> list[Any]:
        made = []
        for i, item in enumerate(items):
            place = f"{path}{i}"
            if item[0] == "skip":
                made.append(self.skip(item[1], item[2], place))
            else:
                made += [m for m in self.layer(place, *item) if m is not None]
        return made

    def skip(self, body: list[Any], shortcut: list[Any], place: str) -> Any:
        before = self.shape, self.width, self.positions
        inner = self.build(body, place + ".")
        after = self.shape, self.width, self.positions
        self.shape, self.width, self.positions = before
        other = self.build(shortcut, place + ".shortcut.")
        self.shape, self.width, self.positions = after
        return Skip(nn.Sequential(*inner), nn.Sequential(*other))

    def layer(
        self, place: str, name: str, numbers: list[str], named: dict[str, str], flags: set[str]
    ) -> Iterator[Any]:
        known = getattr(self, "make_" + name, None)
        if "lora" in named:
            raise errors.ArchError(f"{name} with lora has no module of PyTorch's own: no translation")
        if known is None and name in _FUNCTIONS:
            yield self.pointwise(name, numbers, named, flags)
        elif known is None:
            raise errors.ArchError(f"{name} has no module")
        else:
            yield known(place, numbers, named, flags)

    def pointwise(self, name: str, numbers: list[str], named: dict[str, str], flags: set[str]) -> Any:
        keys = {"relu": "power", "leaky_relu": "slope", "elu": "alpha", "sin": "w0"}
        defaults = {"relu": 1.0, "leaky_relu": 0.01, "elu": 1.0, "sin": 1.0}
        args: tuple[float, ...] = ()
        if name in keys:
            args = (float(numbers[0] if numbers else named.get(keys[name], str(defaults[name]))),)
        name = "gelu_tanh" if "tanh" in flags else name
        gain = float(named["gain"]) if "gain" in named else _unit_gain(name, args) if self.scaled else 1.0
        return Pointwise(name, gain, *args)

    def on_channels(self, module: Any) -> Any:
        return Channels(module) if self.shape == "image" else module

    def weights(self, module: Any, place: str, scale: float = 1.0, shift: float = 1.0) -> Any:
        with torch.no_grad():
            for name, tensor in module.state_dict().items():
                if name == "num_batches_tracked":
                    continue
                found = self.tensors[f"{place}.{name}"]
                factor = shift if name.endswith("bias") else scale
                tensor.copy_(torch.from_numpy(factor * found.reshape(tensor.shape)))
        return module

    def linear_scales(self, named: dict[str, str], fan_in: int) -> tuple[float, float]:
        """What weights and biases are multiplied with."""
        if not self.scaled:
            return 1.0, 1.0
        return float(named.get("w", 1)) / math.sqrt(fan_in), float(named.get("b", 0.1))

    def make_dense(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        out, fan = self.tensors[f"{place}.weight"].shape
        module = nn.Linear(fan, out, bias="nobias" not in flags, dtype=torch.float64)
        self.width = out
        return self.on_channels(self.weights(module, place, *self.linear_scales(named, fan)))

    def make_conv(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        out, fan, height, width = self.tensors[f"{place}.weight"].shape
        module = nn.Conv2d(
            fan, out, (height, width), int(named.get("stride", 1)), int(named.get("pad", 0)),
            bias="nobias" not in flags, dtype=torch.float64,
        )  # fmt: skip
        self.width = out
        return self.weights(module, place, *self.linear_scales(named, fan * height * width))

    def make_ln(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        eps, groups = float(named.get("eps", 0)), int(named.get("groups", 1))
        affine = "affine" in flags
        if groups > 1:
            grouped = nn.GroupNorm(groups, self.width, eps, affine, dtype=torch.float64)
            return self.on_channels(Flat(self.weights(grouped, place)))
        module = nn.LayerNorm(self.width, eps, affine, dtype=torch.float64)
        return self.on_channels(self.weights(module, place))

    def make_rms(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        affine = "affine" in flags
        norm = nn.RMSNorm(self.width, float(named.get("eps", 0)), affine, dtype=torch.float64)
        module = self.weights(norm, place)
        shift = self.tensors.get(f"{place}.bias")
        if shift is not None and shift.any():
            module = nn.Sequential(module, Affine(shift.ravel(), np.ones(self.width)))
        return self.on_channels(module)

    def make_batchnorm(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        module = nn.BatchNorm1d(self.width, float(named.get("eps", 0)), affine="affine" in flags, dtype=torch.float64)
        return self.on_channels(Flat(self.weights(module, place)))

    def make_image(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        size = (numbers or [named.get("size", "")])[0]
        channels, height, width = map(int, size.split("x"))
        self.shape, self.width = "image", channels
        return nn.Unflatten(1, (channels, height, width))

    def make_sequence(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        size = (numbers or [named.get("size", "")])[0]
        self.positions, self.width = map(int, size.split("x"))
        self.shape = "sequence"
        return nn.Unflatten(1, (self.positions, self.width))

    def make_tokens(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        self.shape, self.positions = "sequence", int((numbers or [named["positions"]])[0])
        return Tokens()

    def make_embed(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        count, self.width = self.tensors[f"{place}.weight"].shape
        return self.weights(nn.Embedding(count, self.width, dtype=torch.float64), place)

    def make_position(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        if "sines" not in flags:
            return Position(torch.from_numpy(self.tensors[f"{place}.weight"].copy()), True)
        channel = np.arange(self.width)
        rate = 10000.0 ** (-(channel // 2 * 2) / self.width)
        angle = np.arange(self.positions)[:, None] * rate
        return Position(torch.from_numpy(np.where(channel % 2, np.cos(angle), np.sin(angle))), False)

    def make_attention(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        heads = int((numbers or [named.get("heads", 1)])[0])
        module = Attention(self.width, heads, "causal" in flags).double()
        scale = self.linear_scales(named, self.width)
        self.weights(module.inner, place, *scale)
        return module

    def make_maxpool(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        size = int((numbers or [named.get("size", 2)])[0])
        return nn.MaxPool2d(size, int(named.get("stride", size)), int(named.get("pad", 0)))

    def make_avgpool(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        size = int((numbers or [named.get("size", 2)])[0])
        return nn.AvgPool2d(size, int(named.get("stride", size)))

    def make_gap(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        image, self.shape = self.shape == "image", "vector"
        return Pool(image, False)

    def make_last(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        self.shape = "vector"
        return Pool(False, True)

    def make_flatten(self, place: str, numbers: Any, named: Any, flags: Any) -> Any:
        self.shape = "vector"
        return nn.Flatten()


def _tensor(tensor: Any) -> np.ndarray:
    count = tensor.values.rows * tensor.values.cols
    values = np.frombuffer(ffi.buffer(tensor.values.data, 8 * count), np.float64)
    return values.reshape([tensor.shape[i] for i in range(tensor.dims)])


def to_torch(predictor: Any) -> Any:
    """See `farfield.Predictor.to_torch`."""
    net = lib.far_predictor_net(predictor._predictor)
    if not net:
        raise errors.ArgError(f"a predictor that is {predictor.kind} is no finite network")
    net = ffi.cast("far_net *", net)
    info = lib.far_net_describe(net)
    if info.linearized:
        raise errors.ArchError("a linearised network has no module")
    builder = _Builder(net)
    layers = builder.build(_parsed(_lib.words(info.arch)))
    last: dict[str, list[Any]] = {"image": [Pixels()], "sequence": [nn.Flatten()], "vector": []}
    layers += last[builder.shape]
    scaling = lib.far_columns_describe(info.columns).scaling
    if info.scaled:
        centre, scale = (_lib.copy(m)[0] for m in (scaling.input_centre, scaling.input_scale))
        layers.insert(0, Standardise(centre, scale))
        centre, scale = (_lib.copy(m)[0] for m in (scaling.output_centre, scaling.output_scale))
        layers.append(Affine(centre, scale))
    module = nn.Sequential(*layers).eval()
    _compare(module, predictor, info)
    return module


def _compare(module: Any, predictor: Any, info: Any) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((3, info.inputs))
    if info.vocabulary:
        x = rng.integers(info.vocabulary, size=(3, info.inputs)).astype(np.float64)
    with torch.no_grad():
        found = module(torch.from_numpy(x)).numpy()
    wanted = predictor(x)
    size = np.abs(wanted).max() + 1e-3
    if wanted.shape != found.shape or not np.abs(wanted - found).max() <= 1e-6 * size:
        raise errors.BackendError("the module gives other values than the network: our mistake")
