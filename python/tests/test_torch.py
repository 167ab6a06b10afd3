"""Modules of PyTorch: the same function, certified and with its tangent kernel."""
import numpy as np
import pytest

import farfield

torch = pytest.importorskip("torch")
nn = torch.nn
x = torch.randn(11, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def of(*layers):
    torch.manual_seed(1)
    module = nn.Sequential(*layers).double().eval()
    for p in module.parameters():
        nn.init.normal_(p, std=0.5)
    return module


ACTIVATIONS = [nn.ReLU(), nn.LeakyReLU(0.2), nn.Tanh(), nn.GELU(), nn.GELU("tanh"), nn.SiLU(),
               nn.Sigmoid(), nn.ELU(1.5), nn.Softplus(), nn.Mish()]  # fmt: skip
NORMS = [nn.LayerNorm(8), nn.LayerNorm(8, eps=0.1, elementwise_affine=False), nn.GroupNorm(2, 8),
         nn.BatchNorm1d(8), nn.RMSNorm(8), nn.LayerNorm(8, bias=False)]  # fmt: skip


@pytest.mark.parametrize("layer", ACTIVATIONS + NORMS, ids=str)
def test_a_sequential_is_the_same_function(layer):
    module = of(nn.Linear(5, 8), layer, nn.Sequential(nn.Dropout(), nn.Linear(8, 8, bias=False)),
                nn.Identity(), nn.Tanh(), nn.Linear(8, 2))  # fmt: skip
    if isinstance(layer, nn.BatchNorm1d):
        layer.running_mean.normal_(), layer.running_var.uniform_(0.5, 2)
    ours = farfield.from_torch(module)(x)
    assert np.allclose(ours, module(x).detach(), rtol=1e-9, atol=1e-8)


def test_images():
    module = of(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, (2, 3)),
                nn.BatchNorm2d(6), nn.Tanh(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 2))  # fmt: skip
    pictures = torch.randn(4, 3, 8, 10, dtype=torch.float64)
    p = farfield.from_torch(module, input_shape=(3, 8, 10))
    assert np.allclose(p(pictures.flatten(1)), module(pictures).detach(), rtol=1e-9, atol=1e-10)
    flat = of(nn.Conv2d(3, 4, 3, stride=2), nn.SiLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(4, 3))
    pictures = torch.randn(4, 3, 6, 6, dtype=torch.float64)
    p = farfield.from_torch(flat, input_shape=(3, 6, 6))
    assert np.allclose(p(pictures.flatten(1)), flat(pictures).detach(), rtol=1e-9, atol=1e-10)


def test_the_tangent_kernel_is_that_of_autograd():
    module = of(nn.Linear(5, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 2))
    params = dict(module.named_parameters())
    jacobian = torch.func.jacrev(lambda p: torch.func.functional_call(module, p, (x,)))(params)
    J = torch.cat([j.reshape(22, -1) for j in jacobian.values()], dim=1)
    assert np.allclose(farfield.empirical_ntk(module, x, outputs="full"), (J @ J.T).detach(), rtol=1e-9)


def test_tensors_are_arrays():
    k = farfield.kernel("dense relu dense")
    leaf = x.clone().requires_grad_()
    assert np.array_equal(k(leaf), k(x.numpy())) and np.array_equal(k(x.T), k(x.numpy().T))


def test_modules_are_certified():
    bounded = farfield.certify(of(nn.Linear(5, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 1)))
    assert bounded.bounded is True and bounded.bound < np.inf
    runs = of(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
    certificate = farfield.certify(runs)
    assert certificate.bounded is False
    far = torch.tensor(1e9 * certificate.witness)
    assert np.isclose(runs(far).item(), 1e9 * certificate.outputs[0].slope, rtol=1e-6)


@pytest.mark.parametrize("module, words", [
    (nn.Sequential(nn.Linear(2, 2), nn.Hardtanh()), "Hardtanh.*Linear"),
    (nn.LSTM(2, 2), "LSTM"),
    (nn.Sequential(nn.Conv2d(4, 4, 3, groups=2)), "groups"),
    (nn.Sequential(nn.LayerNorm((2, 3))), "LayerNorm"),
    (nn.Sequential(nn.ReLU()), "input_shape"),
    (nn.Sequential(), "no layers"),
])  # fmt: skip
def test_what_is_not_known_is_said(module, words):
    with pytest.raises(farfield.ArchError, match=words):
        farfield.from_torch(module)
