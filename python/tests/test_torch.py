"""Modules of PyTorch: the same function, certified and with its tangent kernel; and back."""
import pickle

import numpy as np
import pytest

import farfield

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
nn = torch.nn
x = torch.randn(11, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def drawn(module):
    torch.manual_seed(1)
    module = module.double().eval()
    for p in module.parameters():
        nn.init.normal_(p, std=0.5)
    return module


def of(*layers):
    return drawn(nn.Sequential(*layers))


def same(module, points, shape=None, **how):
    """The module and the network that it becomes give the same values."""
    found = farfield.from_torch(module, shape, **how)
    wanted = module(points).detach()
    wanted = wanted.permute(0, 2, 3, 1) if wanted.ndim == 4 else wanted
    assert np.allclose(found(points.flatten(1)), wanted.flatten(1), rtol=1e-9, atol=1e-8)
    return found


ACTIVATIONS = [nn.ReLU(), nn.LeakyReLU(0.2), nn.Tanh(), nn.GELU(), nn.GELU("tanh"), nn.SiLU(),
               nn.Sigmoid(), nn.ELU(1.5), nn.Softplus(), nn.Mish()]  # fmt: skip
NORMS = [nn.LayerNorm(8), nn.LayerNorm(8, eps=0.1, elementwise_affine=False), nn.GroupNorm(2, 8),
         nn.BatchNorm1d(8), nn.RMSNorm(8), nn.LayerNorm(8, bias=False)]  # fmt: skip


@pytest.mark.parametrize("layer", ACTIVATIONS + NORMS, ids=str)
def test_a_sequential_is_the_same_function_there_and_back(layer):
    module = of(nn.Linear(5, 8), layer, nn.Sequential(nn.Dropout(), nn.Linear(8, 8, bias=False)),
                nn.Identity(), nn.Tanh(), nn.Linear(8, 2))  # fmt: skip
    if isinstance(layer, nn.BatchNorm1d):
        layer.running_mean.normal_(), layer.running_var.uniform_(0.5, 2)
    back = same(module, x).to_torch()
    assert torch.allclose(back(x), module(x), rtol=1e-9, atol=1e-8)


def test_images():
    module = of(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, (2, 3)),
                nn.BatchNorm2d(6), nn.Tanh(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 2))  # fmt: skip
    pictures = torch.randn(4, 3, 8, 10, dtype=torch.float64)
    back = same(module, pictures, (3, 8, 10)).to_torch()
    assert torch.allclose(back(pictures.flatten(1)), module(pictures))
    flat = of(nn.Conv2d(3, 4, 3, stride=2), nn.SiLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(4, 3))
    pictures = torch.randn(4, 3, 6, 6, dtype=torch.float64)
    back = same(flat, pictures, (3, 6, 6)).to_torch()
    assert torch.allclose(back(pictures.flatten(1)), flat(pictures))
    kept = of(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Conv2d(4, 2, 1))
    same(kept, pictures, (3, 6, 6))


# ---- sequences ----

WORDS = torch.randn(4, 7, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu", nn.SiLU()])
def test_transformers(norm_first, activation):
    layer = nn.TransformerEncoderLayer(6, 2, 11, activation=activation, norm_first=norm_first, batch_first=True)
    norm = nn.LayerNorm(6) if norm_first else None
    module = of(nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False), nn.Linear(6, 2))
    predictor = same(module, WORDS, (7, 6))
    back = predictor.to_torch()
    assert torch.allclose(back(WORDS.flatten(1)), module(WORDS).flatten(1), rtol=1e-9, atol=1e-9)


class Block(nn.Module):
    """Written out by hand, as people write them."""

    def __init__(self, causal):
        super().__init__()
        self.attn = nn.MultiheadAttention(6, 3, batch_first=True)
        self.ln1, self.ln2 = nn.LayerNorm(6), nn.LayerNorm(6)
        self.mlp = nn.Sequential(nn.Linear(6, 9), nn.GELU(), nn.Linear(9, 6))
        mask = torch.full((7, 7), -np.inf, dtype=torch.float64).triu(1) if causal else None
        self.register_buffer("mask", mask)

    def forward(self, x):
        h = self.ln1(x)
        a = self.attn(h, h, h, attn_mask=self.mask, need_weights=False)[0]
        x = x + a
        return self.mlp(self.ln2(x)) + x


class Language(nn.Module):
    def __init__(self, causal=True):
        super().__init__()
        self.embed = nn.Embedding(13, 6)
        self.position = nn.Parameter(torch.zeros(1, 7, 6))
        self.blocks = nn.Sequential(Block(causal), Block(causal))
        self.norm, self.head = nn.LayerNorm(6), nn.Linear(6, 2)

    def forward(self, tokens):
        x = self.embed(tokens) + self.position
        x = nn.functional.silu(self.norm(self.blocks(x)))
        return self.head(x[:, -1])


@pytest.mark.parametrize("causal", [True, False])
def test_modules_of_your_own_are_traced(causal):
    module = drawn(Language(causal))
    if causal:
        for block in module.blocks:
            block.mask = torch.full((7, 7), -np.inf, dtype=torch.float64).triu(1)
    tokens = torch.randint(13, (5, 7))
    predictor = same(module, tokens, 7)
    assert predictor.arch.startswith("tokens(7, 13) embed(6) position skip(") and predictor.arch.count("causal") == 2 * causal
    back = predictor.to_torch()
    assert torch.allclose(back(tokens), module(tokens), rtol=1e-9, atol=1e-9)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(5, 6), nn.Linear(6, 2)
        self.inner = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
        self.norm = nn.LayerNorm(6)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        for layer in self.inner:
            x = x + nn.functional.leaky_relu(layer(self.norm(x)), 0.3)
        return self.last(x.view(x.size(0), -1))


def test_residual_networks_of_your_own():
    module = drawn(Residual())
    predictor = same(module, x)
    assert predictor.arch.count("skip(") == 3 or "]x3" in predictor.arch
    certificate = farfield.certify(module, seconds=0)
    assert certificate.bounded is True  # behind tanh
    assert abs(module(1e9 * x)).max().item() <= certificate.bound


# ---- kernels, certificates ----


def test_the_tangent_kernel_is_that_of_autograd():
    module = of(nn.Linear(5, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 2))
    params = dict(module.named_parameters())
    jacobian = torch.func.jacrev(lambda p: torch.func.functional_call(module, p, (x,)))(params)
    J = torch.cat([j.reshape(22, -1) for j in jacobian.values()], dim=1)
    assert np.allclose(farfield.empirical_ntk(module, x, outputs="full"), (J @ J.T).detach(), rtol=1e-9)


def test_the_tangent_kernel_of_attention_is_that_of_autograd():
    module = of(nn.TransformerEncoderLayer(6, 2, 5, norm_first=True, batch_first=True), nn.Flatten(), nn.Linear(42, 1))
    params = dict(module.named_parameters())
    jacobian = torch.func.jacrev(lambda p: torch.func.functional_call(module, p, (WORDS,)))(params)
    J = torch.cat([j.reshape(4, -1) for j in jacobian.values()], dim=1)
    ours = farfield.empirical_ntk(module, WORDS.flatten(1), input_shape=(7, 6))
    assert np.allclose(ours, (J @ J.T).detach(), rtol=1e-8)


def test_parameters_that_a_module_does_not_have_are_not_counted():
    for norm in (nn.RMSNorm(8), nn.LayerNorm(8, bias=False)):
        module = of(nn.Linear(5, 8), norm, nn.Linear(8, 1))
        with pytest.raises(farfield.ArchError, match=r"1\.bias"):
            farfield.empirical_ntk(module, x)


def test_tensors_are_arrays():
    k = farfield.kernel("dense relu dense")
    leaf = x.clone().requires_grad_()
    assert np.array_equal(k(leaf), k(x.numpy())) and np.array_equal(k(x.T), k(x.numpy().T))
    assert k(x.to(torch.bfloat16)).shape == (11, 11)


def test_modules_are_certified():
    bounded = farfield.certify(of(nn.Linear(5, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 1)))
    assert bounded.bounded is True and bounded.bound < np.inf
    runs = of(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
    certificate = farfield.certify(runs)
    assert certificate.bounded is False
    far = torch.tensor(1e9 * certificate.witness)
    assert np.isclose(runs(far).item(), 1e9 * certificate.outputs[0].slope, rtol=1e-6)


# ---- what is trained here, in PyTorch ----


@pytest.mark.parametrize("arch, init", [
    ("dense(8) ln(groups=2, affine) relu skip(dense(8) gelu) rms(affine) dense(8) erf dense", None),
    ("dense(8, w=1.3, b=0.2) relu(2) dense(8) silu dense(8) sin(w0=2) dense(8) abs dense", "ntk"),
    ("[dense(7) elu(0.5) batchnorm(affine)]x2 dense(7) leaky_relu(0.3) dense(7, nobias) tanh dense", "ntk"),
    ("sequence(5x1) dense(6) position(sines) skip(ln attention(2, causal)) last dense", None),
])  # fmt: skip
def test_trained_networks_go_to_pytorch(arch, init):
    points = x.numpy()
    model = farfield.NetworkRegressor(arch, epochs=3, init=init).fit(points * 3 + 1, points[:, :2] * 5 - 2)
    module = model.to_torch()
    assert np.allclose(module(x).detach(), model.predict(points), rtol=1e-9)
    assert torch.autograd.grad(module(x).sum(), next(module.parameters()))[0].abs().sum() > 0
    again = pickle.loads(pickle.dumps(module))
    assert torch.equal(again(x), module(x))


def test_classifiers_and_committees_go_to_pytorch():
    points, y = x.numpy(), x[:, 0].numpy() > 0
    for committee in (1, 3):
        model = farfield.NetworkClassifier("dense(6) relu dense", epochs=5, committee=committee).fit(points, y)
        logits = model.to_torch()(x)
        assert np.allclose(logits.detach(), model.predictor_(points), rtol=1e-9)
        if committee == 1:
            assert np.allclose(torch.softmax(logits, 1).detach(), model.predict_proba(points), rtol=1e-9)


def test_what_is_no_finite_network_has_no_module():
    model = farfield.NTKRegressor("dense ln relu dense").fit(x.numpy(), x[:, 0].numpy())
    with pytest.raises(farfield.ArgError, match="infinite is no finite network"):
        model.predictor_.to_torch()


# ---- refusals ----


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 5), nn.Linear(5, 5)

    def forward(self, x):
        return self.a(x) + self.b(x)


class ResNet(nn.Module):
    """Its shape changes inside, so that the shortcut is a convolution."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 4, 3, 1, 1)
        self.bn, self.short = nn.BatchNorm2d(4), nn.Conv2d(3, 4, 1, 2, bias=False)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        h = self.conv2(torch.relu(self.bn(self.conv1(x))))
        return self.head(torch.relu(h + self.short(x)).mean((2, 3)))


def test_shortcuts_of_residual_networks():
    module = drawn(ResNet())
    pictures = torch.randn(4, 3, 6, 6, dtype=torch.float64)
    predictor = same(module, pictures, (3, 6, 6))
    assert "| conv(4, 1x1, stride=2, nobias))" in predictor.arch
    assert torch.allclose(predictor.to_torch()(pictures.flatten(1)), module(pictures))
    same(drawn(Branches()), x)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 5)

    def forward(self, x):
        return 3 * self.a(x) + 1


class Decides(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class Hidden(nn.Module):
    """What its trace does not tell: a layer whose forward a hook changes."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 5)
        self.a.register_forward_hook(lambda m, args, out: 2 * out)

    def forward(self, x):
        return self.a(x)


@pytest.mark.parametrize("module, words", [
    (nn.Sequential(nn.Linear(2, 2), nn.Hardtanh(), nn.Sequential(nn.Hardswish())),
     r"1: Hardtanh; 2\.0: Hardswish\. Known are .*Linear"),
    (nn.LSTM(2, 2), "the module: LSTM"),
    (nn.Sequential(nn.Conv2d(4, 4, 3, groups=2)), "groups"),
    (nn.Sequential(nn.LayerNorm((2, 3))), "LayerNorm"),
    (nn.Sequential(nn.ReLU()), "input_shape"),
    (nn.Sequential(nn.Conv2d(4, 4, 3)), "Conv2d on a vector; give input_shape"),
    (nn.Sequential(), "no layers"),
    (nn.Sequential(nn.Embedding(3, 4)), "how many tokens"),
    (nn.TransformerEncoderLayer(6, 2, 5), "batch_first"),
    (Scaled(), r"a sum with a number"),
    (Decides(), "cannot be traced"),
    (Hidden(), "another function"),
])  # fmt: skip
def test_what_is_not_known_is_said(module, words):
    with pytest.raises(farfield.ArchError, match=words):
        farfield.from_torch(module)


def test_layers_on_the_wrong_axis_are_refused():
    with pytest.raises(farfield.ArchError, match="Linear on an image; .*LayerNorm on an image"):
        farfield.from_torch(nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6)), (3, 6, 6))
    with pytest.raises(farfield.ArchError, match="BatchNorm1d on a sequence"):
        farfield.from_torch(nn.Sequential(nn.BatchNorm1d(7)), (7, 6))
