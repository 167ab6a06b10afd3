"""Networks put together from functions, in the manner of neural-tangents; all of it is text.

>>> from farfield.stax import Dense, LayerNorm, Relu, serial
>>> net = serial(Dense(512), LayerNorm(), Relu(), Dense(1))
>>> print(net)
dense(512) ln relu dense(1)
>>> net.kernel()
farfield.kernel('dense(512) ln relu dense(1)')

What is not given is left to Farfield's defaults, which are not those of neural-tangents:
Dense(W_std=1, b_std=0) and Relu(gain=1) say what stax.Dense() and stax.Relu() say there.
"""
from __future__ import annotations

from typing import Any

from ._kernel import Kernel as _Kernel
from ._kernel import kernel as _kernel
from .errors import ArgError

__all__ = [
    "Abs", "AvgPool", "BatchNorm", "Conv", "Dense", "Elu", "Erf", "FanInSum", "FanOut", "Flatten",
    "Gelu", "GlobalAvgPool", "Identity", "LayerNorm", "LeakyRelu", "MaxPool", "Mish", "Relu",
    "RmsNorm", "Sigmoid", "Silu", "Sin", "Softplus", "Tanh", "repeat", "residual", "serial",
]  # fmt: skip


class Layers(str):
    """The text of an architecture; `farfield.kernel`, the estimators and the command take it."""

    def __repr__(self) -> str:
        return str(self)

    def kernel(self, param: str = "ntk") -> _Kernel:
        """`farfield.kernel` of it."""
        return _kernel(self, param)


def _number(value: float) -> str:
    return format(value, ".17g") if float(format(value, ".15g")) != value else format(value, ".15g")


def _layer(name: str, *numbers: Any, flags: tuple[str, ...] = (), **named: float | None) -> Layers:
    words = [str(n) if isinstance(n, (int, str)) else _number(n) for n in numbers if n is not None]
    words += [f"{key}={_number(value)}" for key, value in named.items() if value is not None]
    words += flags
    return Layers(f"{name}({', '.join(words)})" if words else name)


def serial(*layers: str) -> Layers:
    """One after the other.

    >>> print(serial(Dense(512), Relu(), Dense(1)))
    dense(512) relu dense(1)
    """
    if not layers:
        raise ArgError("serial() of nothing; a network has layers")
    return Layers(" ".join(layers))


def repeat(layers: str, count: int) -> Layers:
    """count times, each time with its own weights: [layers]xN.

    >>> print(repeat(serial(Dense(), Relu()), 3))
    [dense relu]x3
    """
    return Layers(f"[{layers}]x{int(count)}")


def residual(*layers: str) -> Layers:
    """x + layers(x): serial(FanOut(2), parallel(Identity(), layers), FanInSum()).

    >>> print(residual(Dense(8), Relu()))
    skip(dense(8) relu)
    """
    return Layers(f"skip({serial(*layers)})")


def _branches(*_: Any, **__: Any) -> Layers:
    """Branches of neural-tangents, which are written residual(...).

    >>> FanOut(2)
    Traceback (most recent call last):
    farfield.errors.ArgError: branches are written residual(...): x + layers(x); others are not known
    """
    raise ArgError("branches are written residual(...): x + layers(x); others are not known")


FanOut = FanInSum = _branches


def Dense(width: int | None = None, W_std: float | None = None, b_std: float | None = None, bias: bool = True) -> Layers:
    """A linear layer; width is not needed at infinite width.

    >>> print(Dense(512, W_std=1.5))
    dense(512, w=1.5)
    """
    return _layer("dense", width, w=W_std, b=b_std, flags=() if bias else ("nobias",))


def Conv(channels: int, size: tuple[int, int], stride: int | None = None, pad: int | None = None, W_std: float | None = None, b_std: float | None = None, bias: bool = True) -> Layers:
    """A convolution with windows of size (height, width); for finite networks.

    >>> print(Conv(16, (3, 3), pad=1))
    conv(16, 3x3, pad=1)
    """
    shape = f"{size[0]}x{size[1]}"
    flags = () if bias else ("nobias",)
    return _layer("conv", channels, shape, stride=stride, pad=pad, w=W_std, b=b_std, flags=flags)


def LayerNorm(eps: float | None = None, affine: bool = False, groups: int | None = None) -> Layers:
    """Layer norm; with groups, group norm.

    >>> print(LayerNorm(affine=True))
    ln(affine)
    """
    return _layer("ln", groups=groups, eps=eps, flags=("affine",) if affine else ())


def RmsNorm(eps: float | None = None, affine: bool = False) -> Layers:
    """z / sqrt(mean z^2 + eps).

    >>> print(RmsNorm())
    rms
    """
    return _layer("rms", eps=eps, flags=("affine",) if affine else ())


def BatchNorm(eps: float | None = None, affine: bool = False) -> Layers:
    """Batch norm, at evaluation a fixed map.

    >>> print(BatchNorm(affine=True))
    batchnorm(affine)
    """
    return _layer("batchnorm", eps=eps, flags=("affine",) if affine else ())


def Relu(power: float | None = None, gain: float | None = None) -> Layers:
    """gain max(z, 0)^power.

    >>> print(Relu(2))
    relu(2)
    """
    return _layer("relu", power, gain=gain)


def LeakyRelu(slope: float | None = None, gain: float | None = None) -> Layers:
    """max(z, 0) + slope min(z, 0).

    >>> print(LeakyRelu(0.25))
    leaky_relu(0.25)
    """
    return _layer("leaky_relu", slope, gain=gain)


def Elu(alpha: float | None = None, gain: float | None = None) -> Layers:
    """z above 0, alpha (exp(z) - 1) below.

    >>> print(Elu())
    elu
    """
    return _layer("elu", alpha, gain=gain)


def Gelu(approximate: bool = False, gain: float | None = None) -> Layers:
    """z P(u < z), u ~ N(0, 1); approximate: by tanh.

    >>> print(Gelu())
    gelu
    """
    return _layer("gelu", gain=gain, flags=("tanh",) if approximate else ())


def Sin(w0: float | None = None, gain: float | None = None) -> Layers:
    """sin(w0 z).

    >>> print(Sin(30))
    sin(w0=30)
    """
    return _layer("sin", w0=w0, gain=gain)


def Abs(gain: float | None = None) -> Layers:
    """|z|.

    >>> print(Abs())
    abs
    """
    return _layer("abs", gain=gain)


def Erf(gain: float | None = None) -> Layers:
    """erf(z).

    >>> print(Erf(gain=1))
    erf(gain=1)
    """
    return _layer("erf", gain=gain)


def Silu(gain: float | None = None) -> Layers:
    """z / (1 + exp(-z)).

    >>> print(Silu())
    silu
    """
    return _layer("silu", gain=gain)


def Tanh(gain: float | None = None) -> Layers:
    """tanh(z).

    >>> print(Tanh())
    tanh
    """
    return _layer("tanh", gain=gain)


def Identity(gain: float | None = None) -> Layers:
    """z.

    >>> print(Identity())
    identity
    """
    return _layer("identity", gain=gain)


def Sigmoid(gain: float | None = None) -> Layers:
    """1 / (1 + exp(-z)), for finite networks.

    >>> print(Sigmoid())
    sigmoid
    """
    return _layer("sigmoid", gain=gain)


def Softplus(gain: float | None = None) -> Layers:
    """log(1 + exp(z)), for finite networks.

    >>> print(Softplus())
    softplus
    """
    return _layer("softplus", gain=gain)


def Mish(gain: float | None = None) -> Layers:
    """z tanh(log(1 + exp(z))), for finite networks.

    >>> print(Mish())
    mish
    """
    return _layer("mish", gain=gain)


def MaxPool(size: int, stride: int | None = None, pad: int | None = None) -> Layers:
    """The largest number of each window.

    >>> print(MaxPool(2))
    maxpool(2)
    """
    return _layer("maxpool", size, stride=stride, pad=pad)


def AvgPool(size: int, stride: int | None = None) -> Layers:
    """The mean of each window.

    >>> print(AvgPool(2, stride=1))
    avgpool(2, stride=1)
    """
    return _layer("avgpool", size, stride=stride)


def GlobalAvgPool() -> Layers:
    """The mean over all positions.

    >>> print(GlobalAvgPool())
    gap
    """
    return _layer("gap")


def Flatten() -> Layers:
    """All positions one after another.

    >>> print(Flatten())
    flatten
    """
    return _layer("flatten")
