"""Modules of PyTorch as predictors."""
import numpy as np

from . import _lib, errors
from ._fit import of_net
from ._lib import ffi, lib
from ._predictor import Predictor


def _pair(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def _square(name, value):
    height, width = _pair(value)
    if height != width:
        raise errors.ArchError(f"{name} {height}x{width}: only one number for both is known")
    return height


def _number(value):
    return format(float(value), ".17g")


def _dense(m):
    return f"dense({m.out_features}" + (")" if m.bias is not None else ", nobias)")


def _ln(m):
    if len(m.normalized_shape) != 1:
        raise errors.ArchError(f"LayerNorm over {tuple(m.normalized_shape)}: only over channels")
    return f"ln(eps={_number(m.eps)}{', affine' if m.elementwise_affine else ''})"


def _group(m):
    return f"ln(groups={m.num_groups}, eps={_number(m.eps)}{', affine' if m.affine else ''})"


def _rms(m):
    import torch

    weight = m.weight
    dtype = torch.get_default_dtype() if weight is None else weight.dtype
    eps = torch.finfo(dtype).eps if m.eps is None else m.eps
    return f"rms(eps={_number(eps)}{', affine' if m.elementwise_affine else ''})"


def _batch(m):
    if not m.track_running_stats:
        raise errors.ArchError("BatchNorm without running statistics is no function of one input")
    return f"batchnorm(eps={_number(m.eps)}{', affine' if m.affine else ''})"


def _conv(m):
    if m.groups != 1 or _pair(m.dilation) != (1, 1) or m.padding_mode != "zeros":
        raise errors.ArchError("Conv2d with groups, dilation or a padding mode is not known")
    if isinstance(m.padding, str):
        raise errors.ArchError(f"Conv2d with padding={m.padding!r}: give it as a number")
    height, width = _pair(m.kernel_size)
    more = "" if m.bias is not None else ", nobias"
    stride, pad = _square("stride", m.stride), _square("padding", m.padding)
    return f"conv({m.out_channels}, {height}x{width}, stride={stride}, pad={pad}{more})"


def _max_pool(m):
    if _pair(m.dilation) != (1, 1) or m.ceil_mode or m.return_indices:
        raise errors.ArchError("MaxPool2d with dilation, ceil_mode or indices is not known")
    size, stride = _square("window", m.kernel_size), _square("stride", m.stride)
    return f"maxpool({size}, stride={stride}, pad={_square('padding', m.padding)})"


def _avg_pool(m):
    if m.ceil_mode or m.divisor_override or _pair(m.padding) != (0, 0):
        raise errors.ArchError("AvgPool2d with padding, ceil_mode or a divisor is not known")
    return f"avgpool({_square('window', m.kernel_size)}, stride={_square('stride', m.stride)})"


def _softplus(m):
    if m.beta != 1:
        raise errors.ArchError(f"Softplus with beta={m.beta} is not known")
    return "softplus"


_LAYERS = {
    "Linear": _dense,
    "LayerNorm": _ln,
    "GroupNorm": _group,
    "RMSNorm": _rms,
    "BatchNorm1d": _batch,
    "BatchNorm2d": _batch,
    "Conv2d": _conv,
    "MaxPool2d": _max_pool,
    "AvgPool2d": _avg_pool,
    "Flatten": lambda m: "flatten",
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


def _flat(module):
    """The modules inside Sequentials, one after the other."""
    if type(module).__name__ != "Sequential":
        return [module]
    return [inner for child in module for inner in _flat(child)]


def _layers(module, images):
    """(text, module) of each layer."""
    modules = [m for m in _flat(module) if type(m).__name__ not in _NOTHING]
    known = {*_LAYERS, "AdaptiveAvgPool2d"}
    unknown = sorted({type(m).__name__ for m in modules} - known)
    if unknown:
        raise errors.ArchError(
            f"{', '.join(unknown)}: not known. A torch.nn.Sequential of these is: "
            + ", ".join(sorted({*known, *_NOTHING}))
        )
    found = []
    for m in modules:
        name = type(m).__name__
        if name == "AdaptiveAvgPool2d":
            if m.output_size not in (1, (1, 1)):
                raise errors.ArchError("AdaptiveAvgPool2d is known with an output of 1 alone")
            found.append(("gap", m))
        elif name == "Flatten" and (not images or (found and found[-1][0] == "gap")):
            continue  # a vector already
        elif name == "LayerNorm" and images and not any(w == "flatten" or w == "gap" for w, _ in found):
            raise errors.ArchError("LayerNorm over the last axis of an image is not known")
        elif name == "GroupNorm" and images and not any(w == "flatten" or w == "gap" for w, _ in found):
            raise errors.ArchError("GroupNorm over images (channels and pixels) is not known")
        else:
            found.append((_LAYERS[name](m), m))
    return found


def _inputs(layers):
    for _, module in layers:
        if hasattr(module, "in_features"):
            return module.in_features
        for name in ("normalized_shape", "num_features", "num_channels"):
            if hasattr(module, name):
                value = getattr(module, name)
                return value[-1] if isinstance(value, (tuple, list)) else value
    raise errors.ArchError("the module does not say how many inputs it has; give input_shape")


def _fill(net, layers):
    """Copies the parameters and running statistics of each layer."""
    for i in range(lib.far_net_describe(net).tensors):
        tensor = lib.far_net_tensor(net, i)
        number, name = _lib.text(tensor.name).rsplit(".", 1)
        values = getattr(layers[int(number)][1], name, None)
        count = tensor.values.rows * tensor.values.cols
        place = np.frombuffer(ffi.buffer(tensor.values.data, 8 * count), np.float64)
        if values is None:  # a norm without a shift
            place[:] = 0
            continue
        values = values.detach().cpu().double().numpy()
        if values.size != count:
            raise errors.ShapeError(f"{number}.{name} has {values.size} numbers, not {count}")
        place[:] = values.ravel()


def from_torch(module, input_shape=None):
    """A torch.nn.Sequential (or one module) as a `Predictor`: the same function at evaluation, its
    weights copied, to be evaluated in float64 and certified.

    input_shape: of images, (channels, height, width); or the number of inputs of a module that does
    not tell. What is not known is refused with a list of what is.
    """
    images = input_shape is not None and np.ndim(input_shape) == 1 and len(input_shape) == 3
    layers = _layers(module, images)
    if not layers:
        raise errors.ArchError("the module has no layers")
    head = [("image({}x{}x{})".format(*map(int, input_shape)), None)] if images else []
    layers = head + layers
    arch = " ".join(text for text, _ in layers)
    width = None if images else int(np.ravel(input_shape)[0]) if input_shape else _inputs(layers)
    opts = _lib.Options("far_net_opts", inputs=width, init="torch")
    net = _lib.make(lib.far_net_create, arch.encode(), opts.pointer, destroy=lib.far_net_destroy)
    _fill(net, layers)
    return Predictor(of_net(net))
