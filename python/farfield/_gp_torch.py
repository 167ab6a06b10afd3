"""Kernels of infinitely wide networks for GPyTorch and BoTorch, with gradients."""
from __future__ import annotations

from typing import Any

import numpy as np

try:
    import gpytorch
    import torch
except ImportError as error:
    raise ImportError("this needs GPyTorch: pip install gpytorch") from error

from ._kernel import Kernel


class _Matrix(torch.autograd.Function):  # type: ignore[misc]
    """K(x1, x2) of n x d and m x d points; backwards by far_kernel_slopes."""

    @staticmethod
    def forward(ctx: Any, x1: Any, x2: Any, kernel: Kernel, get: str) -> Any:
        ctx.save_for_backward(x1, x2)
        ctx.kernel, ctx.get = kernel, get
        return _tensor(kernel(_array(x1), _array(x2), get), x1)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x1, x2 = ctx.saved_tensors
        g, a, b = _array(grad), _array(x1), _array(x2)
        slopes = ctx.kernel.slopes
        first = _tensor(slopes(a, b, g, ctx.get), x1) if ctx.needs_input_grad[0] else None
        second = _tensor(slopes(b, a, g.T, ctx.get), x2) if ctx.needs_input_grad[1] else None
        return first, second, None, None


class _Diagonal(torch.autograd.Function):  # type: ignore[misc]
    """K(x_i, x_i); backwards, twice the slope of one of the two, which stand for each other."""

    @staticmethod
    def forward(ctx: Any, x: Any, kernel: Kernel, get: str) -> Any:
        ctx.save_for_backward(x)
        ctx.kernel, ctx.get = kernel, get
        return _tensor(kernel.diag(_array(x), get), x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        points, g = _array(x), _array(grad)
        each = [ctx.kernel.slopes(points[i : i + 1], None, [[2 * g[i]]], ctx.get) for i in range(len(g))]
        return _tensor(np.concatenate(each) if each else points, x), None, None


def _array(x: Any) -> np.ndarray:
    return np.ascontiguousarray(x.detach().cpu().numpy(), np.float64)


def _tensor(values: np.ndarray, like: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(values)).to(like)


class GPyTorchKernel(gpytorch.kernels.Kernel):  # type: ignore[misc]
    """The NTK or NNGP kernel of an architecture as a gpytorch.kernels.Kernel, of points divided by
    its lengthscale; BoTorch takes it too.

    arch, param: as `farfield.kernel`. get: "nngp" (the prior of Bayesian networks, the default) or
    "ntk". The lengthscale (ard_num_dims: one for each input) is the hyper-parameter, and gradients
    go through the points as well, so that features may be learnt and acquisitions climbed; all of
    it in closed form, in float64 on the CPU. Amplitude and noise are those of GPyTorch:
    ScaleKernel, GaussianLikelihood. Scales of weights and biases stand in the text.

    >>> import torch
    >>> k = farfield.GPyTorchKernel("dense relu dense", ard_num_dims=2)
    >>> x = torch.randn(5, 2, dtype=torch.float64)
    >>> k(x).to_dense().shape
    torch.Size([5, 5])
    >>> k(x).to_dense().sum().backward()
    >>> k.raw_lengthscale.grad.shape
    torch.Size([1, 2])
    """

    has_lengthscale = True

    def __init__(self, arch: str, get: str = "nngp", param: str = "ntk", **options: Any) -> None:
        super().__init__(**options)
        self.kernel, self.get = Kernel(arch, param), get

    def forward(self, x1: Any, x2: Any, diag: bool = False, last_dim_is_batch: bool = False, **_: Any) -> Any:
        """K(x1 / lengthscale, x2 / lengthscale): ... x n x m, or with diag ... x n."""
        if last_dim_is_batch:
            raise NotImplementedError("last_dim_is_batch: a network sees all of its inputs")
        x1, x2 = x1 / self.lengthscale, x2 / self.lengthscale
        if x1.dim() > 2 or x2.dim() > 2:
            return self._batches(x1, x2, diag)
        if not diag:
            return _Matrix.apply(x1, x2, self.kernel, self.get)
        if torch.equal(x1, x2):
            return _Diagonal.apply((x1 + x2) / 2, self.kernel, self.get)
        return _Matrix.apply(x1, x2, self.kernel, self.get).diagonal()

    def _batches(self, x1: Any, x2: Any, diag: bool) -> Any:
        shape = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        x1 = x1.expand(*shape, *x1.shape[-2:]).reshape(-1, *x1.shape[-2:])
        x2 = x2.expand(*shape, *x2.shape[-2:]).reshape(-1, *x2.shape[-2:])
        found = [_Matrix.apply(a, b, self.kernel, self.get) for a, b in zip(x1, x2)]
        whole = torch.stack(found)
        whole = whole.reshape(*shape, *whole.shape[1:])
        return whole.diagonal(dim1=-2, dim2=-1) if diag else whole
