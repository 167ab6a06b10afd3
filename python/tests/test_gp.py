"""Our kernels inside the Gaussian processes of others: values, derivatives, fits."""
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

import farfield

rng = np.random.default_rng(2)
X = rng.uniform(-2, 2, (23, 3))
y = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1]
ARCHS = ["dense relu dense", "dense ln relu dense gelu dense", "dense(b=0.5) skip(relu dense) tanh dense"]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("get", ["ntk", "nngp"])
def test_slopes_are_differences(arch, get):
    k, h = farfield.kernel(arch), 1e-5
    a, b = X[:5], X[5:12]
    found = k.slopes(a, b, get=get)
    for j, e in enumerate(np.eye(3)):
        assert np.allclose(found[:, :, j], (k(a + h * e, b, get) - k(a - h * e, b, get)) / (2 * h), atol=1e-8)
    weights = rng.standard_normal((5, 7))
    assert np.allclose(k.slopes(a, b, weights, get), np.einsum("ij,ijl->il", weights, found))


@pytest.mark.parametrize("scale", [1.3, [0.7, 2.0, 1.1]])
@pytest.mark.parametrize("get", ["ntk", "nngp"])
def test_kernels_of_scikit_learn_have_their_derivatives(scale, get):
    kernel = farfield.SklearnKernel("dense ln relu dense relu dense", get, scale)
    matrix, slopes = kernel(X, eval_gradient=True)
    assert np.array_equal(matrix, farfield.kernel(kernel.arch)(X / np.asarray(scale), None, get))
    assert np.allclose(kernel.diag(X), np.diag(matrix)) and slopes.shape == (23, 23, np.size(scale))
    for j in range(np.size(scale)):
        moved = [kernel.clone_with_theta(kernel.theta + s * 1e-5 * np.eye(np.size(scale))[j])(X) for s in (1, -1)]
        assert np.allclose(slopes[:, :, j], (moved[0] - moved[1]) / 2e-5, atol=1e-7)
    assert clone(kernel) == kernel and "SklearnKernel" in repr(ConstantKernel() * kernel)
    with pytest.raises(ValueError, match="Y is None"):
        kernel(X, X, eval_gradient=True)


def test_gaussian_processes_of_scikit_learn_choose_the_length_scale():
    kernel = ConstantKernel() * farfield.SklearnKernel("dense relu dense", length_scale=[1.0] * 3) + WhiteKernel(1e-2)
    gp = GaussianProcessRegressor(kernel).fit(X, y)
    start = gp.log_marginal_likelihood(kernel.theta)
    assert gp.log_marginal_likelihood_value_ > start
    scales = gp.kernel_.k1.k2.length_scale
    assert scales[0] < scales[2]  # the third input says nothing


def test_fixed_length_scales_have_no_derivative():
    kernel = farfield.SklearnKernel("dense relu dense", length_scale_bounds="fixed")
    assert kernel(X, eval_gradient=True)[1].shape == (23, 23, 0) and len(kernel.theta) == 0


def test_gpytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    gpytorch = pytest.importorskip("gpytorch", reason="GPyTorch is not installed")
    x = torch.tensor(X, requires_grad=True)
    for get in ("ntk", "nngp"):
        k = farfield.GPyTorchKernel("dense ln gelu dense", get, ard_num_dims=3).double()
        k.lengthscale = torch.tensor([[0.7, 2.0, 1.1]], dtype=torch.float64)
        scaled = X / np.array([0.7, 2.0, 1.1])
        ours = farfield.kernel("dense ln gelu dense")
        assert np.allclose(k(x).to_dense().detach(), ours(scaled, None, get), rtol=1e-9)
        assert np.allclose(k(x).diagonal().detach(), ours.diag(scaled, get), rtol=1e-9)
        assert k(torch.tensor(np.stack([X, X]))).to_dense().shape == (2, 23, 23)
        points = torch.tensor(X[:4], requires_grad=True)
        others = torch.tensor(X[4:7], requires_grad=True)
        assert torch.autograd.gradcheck(lambda a, b: k(a, b).to_dense(), (points, others), eps=1e-5, atol=1e-6)
        assert torch.autograd.gradcheck(lambda a: k(a).diagonal(), (points,), eps=1e-5, atol=1e-6)
        k(x).to_dense().sum().backward()
        assert k.raw_lengthscale.grad.abs().min() > 0 and x.grad.abs().max() > 0

    class GP(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(farfield.GPyTorchKernel("dense relu dense", ard_num_dims=3))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = GP(torch.tensor(X), torch.tensor(y), likelihood).double()
    loss = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    values = []
    for _ in range(30):
        optimiser.zero_grad()
        value = -loss(model(torch.tensor(X)), torch.tensor(y))
        value.backward()
        optimiser.step()
        values.append(value.item())
    assert values[-1] < values[0] - 0.1
    model.eval(), likelihood.eval()
    assert model(torch.tensor(X[:5])).mean.shape == (5,)


@pytest.mark.parametrize("scale", [[1, 1, 1], [1, 1], [[1.0, 2.0, 3.0]]])
def test_length_scales_that_do_not_fit_are_named(scale):
    with pytest.raises(farfield.ShapeError, match=r"length_scale has . values, and the points have . columns: give"):
        farfield.SklearnKernel("dense relu dense", length_scale=scale)(X[:, : 2 if len(scale) == 3 else 3])
