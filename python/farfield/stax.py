"""Networks put together from functions, in the manner of neural-tangents; all of it is text.

>>> from farfield.stax import *
>>> net = serial(Dense(512), LayerNorm(), Relu(), Dense(1))
>>> print(net)
dense(512) ln relu dense(1)
>>> net.kernel()
farfield.kernel('dense(512) ln relu dense(1)')

What is not given is left to Farfield's defaults, which are not those of neural-tangents:
Dense(W_std=1, b_std=0) and Relu(gain=1) say what stax.Dense() and stax.Relu() say there.
"""
from ._kernel import kernel as _kernel
from .errors import ArgError

__all__ = [
    "Abs", "AvgPool", "BatchNorm", "Conv", "Dense", "Elu", "Erf", "FanInSum", "FanOut", "Flatten",
    "Gelu", "GlobalAvgPool", "Identity", "LayerNorm", "LeakyRelu", "MaxPool", "Mish", "Relu",
    "RmsNorm", "Sigmoid", "Silu", "Sin", "Softplus", "Tanh", "repeat", "residual", "serial",
]  # fmt: skip


class Layers(str):
    """The text of an architecture; `farfield.kernel`, the estimators and the command take it."""

    def __repr__(self):
        return str(self)

    def kernel(self, param="ntk"):
        """`farfield.kernel` of it."""
        return _kernel(self, param)


def _number(value):
    return format(value, ".17g") if float(format(value, ".15g")) != value else format(value, ".15g")


def _layer(name, *numbers, flags=(), **named):
    words = [str(n) if isinstance(n, (int, str)) else _number(n) for n in numbers if n is not None]
    words += [f"{key}={_number(value)}" for key, value in named.items() if value is not None]
    words += flags
    return Layers(f"{name}({', '.join(words)})" if words else name)


def serial(*layers):
    """One after the other."""
    if not layers:
        raise ArgError("serial() of nothing; a network has layers")
    return Layers(" ".join(layers))


def repeat(layers, count):
    """count times, each time with its own weights: [layers]xN."""
    return Layers(f"[{layers}]x{int(count)}")


def residual(*layers):
    """x + layers(x): serial(FanOut(2), parallel(Identity(), layers), FanInSum())."""
    return Layers(f"skip({serial(*layers)})")


def _branches(*_, **__):
    raise ArgError("branches are written residual(...): x + layers(x); others are not known")


FanOut = FanInSum = _branches


def Dense(width=None, W_std=None, b_std=None, bias=True):
    return _layer("dense", width, w=W_std, b=b_std, flags=() if bias else ("nobias",))


def Conv(channels, size, stride=None, pad=None, W_std=None, b_std=None, bias=True):
    """size: (height, width). For finite networks."""
    shape = f"{size[0]}x{size[1]}"
    flags = () if bias else ("nobias",)
    return _layer("conv", channels, shape, stride=stride, pad=pad, w=W_std, b=b_std, flags=flags)


def LayerNorm(eps=None, affine=False, groups=None):
    return _layer("ln", groups=groups, eps=eps, flags=("affine",) if affine else ())


def RmsNorm(eps=None, affine=False):
    return _layer("rms", eps=eps, flags=("affine",) if affine else ())


def BatchNorm(eps=None, affine=False):
    return _layer("batchnorm", eps=eps, flags=("affine",) if affine else ())


def Relu(power=None, gain=None):
    return _layer("relu", power, gain=gain)


def LeakyRelu(slope=None, gain=None):
    return _layer("leaky_relu", slope, gain=gain)


def Elu(alpha=None, gain=None):
    return _layer("elu", alpha, gain=gain)


def Gelu(approximate=False, gain=None):
    return _layer("gelu", gain=gain, flags=("tanh",) if approximate else ())


def Sin(w0=None, gain=None):
    return _layer("sin", w0=w0, gain=gain)


def Abs(gain=None):
    return _layer("abs", gain=gain)


def Erf(gain=None):
    return _layer("erf", gain=gain)


def Silu(gain=None):
    return _layer("silu", gain=gain)


def Tanh(gain=None):
    return _layer("tanh", gain=gain)


def Identity(gain=None):
    return _layer("identity", gain=gain)


def Sigmoid(gain=None):
    return _layer("sigmoid", gain=gain)


def Softplus(gain=None):
    return _layer("softplus", gain=gain)


def Mish(gain=None):
    return _layer("mish", gain=gain)


def MaxPool(size, stride=None, pad=None):
    return _layer("maxpool", size, stride=stride, pad=pad)


def AvgPool(size, stride=None):
    return _layer("avgpool", size, stride=stride)


def GlobalAvgPool():
    return _layer("gap")


def Flatten():
    return _layer("flatten")
