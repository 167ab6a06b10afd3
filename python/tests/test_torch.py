"""Modules of PyTorch: the same function, certified and with its tangent kernel; and back."""
import pickle
import threading

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
    (nn.Sequential(nn.Linear(2, 2), nn.Softplus(threshold=1)), "1: Softplus with threshold=1"),
    (nn.MultiheadAttention(6, 2, batch_first=True), "give input_shape"),
])  # fmt: skip
def test_what_is_not_known_is_said(module, words):
    with pytest.raises(farfield.ArchError, match=words):
        farfield.from_torch(module)


def test_layers_on_the_wrong_axis_are_refused():
    with pytest.raises(farfield.ArchError, match="Linear on an image; .*LayerNorm on an image"):
        farfield.from_torch(nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6)), (3, 6, 6))
    with pytest.raises(farfield.ArchError, match="BatchNorm1d on a sequence"):
        farfield.from_torch(nn.Sequential(nn.BatchNorm1d(7)), (7, 6))


# ---- what would be proven of another function ----
#
# Each module runs away, or could, by something that its layers do not show and that random points near the
# origin do not see.


def far(x):
    return torch.relu(x - 1e4)


def vectors():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 1))


class Own(nn.Module):
    """Layers for a forward that is given."""

    def __init__(self, forward=None):
        super().__init__()
        torch.manual_seed(1)
        self.a, self.act, self.b = nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1)
        self.square, self.f = nn.Linear(8, 8), forward

    def forward(self, x):
        return self.b(self.act(self.a(x))) if self.f is None else self.f(self, x)


def refused(module, words, shape=None):
    with pytest.raises(farfield.FarfieldError, match=words) as caught:
        farfield.from_torch(module, shape)
    assert not isinstance(caught.value, farfield.ShapeError)


def hooked(module, *path):
    module.get_submodule(".".join(path)).register_forward_hook(lambda m, args, out: out + far(args[0].sum()))
    return module


@pytest.mark.parametrize("module, place", [
    (hooked(vectors()), "the module"),
    (hooked(vectors(), "1"), "1"),
    (hooked(Own(), "act"), "act"),
    (hooked(nn.Sequential(nn.Linear(5, 5), Own()), "1", "a"), r"1\.a"),
    (hooked(nn.TransformerEncoderLayer(6, 2, 5, batch_first=True), "dropout2"), "dropout2"),
    (hooked(nn.MultiheadAttention(6, 2, batch_first=True), "out_proj"), "out_proj"),
])  # fmt: skip
def test_forward_hooks_are_refused(module, place):
    refused(module, f"^refused: {place}: a forward hook, which may do anything; remove it first$")


def test_forward_pre_hooks_and_those_of_all_modules_are_refused():
    module = vectors()
    handle = module[3].register_forward_pre_hook(lambda m, args: (args[0] + far(args[0]),))
    refused(module, "3: a forward pre-hook")
    handle.remove()
    everywhere = nn.modules.module
    for register in (everywhere.register_module_forward_hook, everywhere.register_module_forward_pre_hook):
        handle = register(lambda *_: None)
        try:
            refused(module, "the module: a forward hook of all modules")
        finally:
            handle.remove()
    assert farfield.certify(module, seconds=0).bounded


def test_other_hooks_are_harmless():
    module = vectors()
    module.register_full_backward_hook(lambda *_: None)
    module[0].register_full_backward_pre_hook(lambda *_: None)
    module._register_state_dict_hook(lambda *_: None)
    assert farfield.certify(module, seconds=0).bounded


def replacing(module, path, name="forward"):
    vars(module.get_submodule(path))[name] = lambda x, *_, **__: x + far(x)
    return module


class Called(Own):
    def __call__(self, x):
        return super().__call__(x) + far(x.sum())


@pytest.mark.parametrize("module, words", [
    (replacing(vectors(), ""), "the module: its forward is replaced"),
    (replacing(vectors(), "2"), "2: its forward is replaced"),
    (replacing(Own(), "act"), "act: its forward is replaced"),
    (replacing(Own(), "", "_call_impl"), "its _call_impl is replaced"),
    (replacing(Own(), "", "_compiled_call_impl"), "_compiled_call_impl is replaced"),
    (replacing(nn.TransformerEncoderLayer(6, 2, 5, batch_first=True), "", "_sa_block"), "its _sa_block is replaced"),
    (Called(), "its class replaces __call__"),
])  # fmt: skip
def test_methods_that_are_replaced_are_refused(module, words):
    refused(module, words)


@pytest.mark.parametrize("base", [nn.Tanh, nn.Module])
def test_a_class_is_not_known_by_its_name(base):
    names = {"__module__": "torch.nn.modules.activation", "forward": lambda m, x: torch.tanh(x) + far(x)}
    module = vectors()
    module[2] = type("Tanh", (base,), names)()
    refused(module, r"2\.sub: sub\(\)")


def tanh(x):
    return torch.tanh(x) + far(x)


torch.fx.wrap("tanh")


def relu(x):
    return torch.relu(x) + far(x)


def test_a_function_is_not_known_by_its_name():
    refused(Own(lambda m, x: m.b(tanh(m.a(x)))), r"tanh\(\) of .*test_torch")
    for activation in (relu, lambda x: relu(x)):
        layer = nn.TransformerEncoderLayer(6, 2, 5, activation=activation, batch_first=True)
        refused(layer, "activation: the function .*(relu|lambda)", (7, 6))


def test_parts_of_transformers_are_what_they_are_called():
    layer = nn.TransformerEncoderLayer(6, 2, 5, batch_first=True)
    layer.activation = nn.functional.silu
    refused(layer, "activation: not the relu with which", (7, 6))
    refused(nn.TransformerEncoderLayer(6, 2, 5, 0.0, nn.GELU("tanh"), batch_first=True), "not the gelu", (7, 6))
    for name, part in (("dropout1", nn.Tanh()), ("linear1", Own()), ("norm2", nn.RMSNorm(6)), ("self_attn", Own())):
        layer = nn.TransformerEncoderLayer(6, 2, 5, batch_first=True)
        setattr(layer, name, part)
        refused(layer, f"{name}: {type(part).__name__} in place of", (7, 6))
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 5, batch_first=True), 2)
    encoder.layers[1] = Own()
    refused(encoder, r"layers\.1: Own in place of TransformerEncoderLayer", (7, 6))


def normed(f):
    module = vectors()
    f(module[0])
    return module


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("change, words, undo", [
    (nn.utils.parametrizations.weight_norm, "0: weight parametrized; .*remove_parametrizations",
     lambda m: nn.utils.parametrize.remove_parametrizations(m, "weight")),
    (nn.utils.parametrizations.orthogonal, "0: weight parametrized; .*remove_parametrizations",
     lambda m: nn.utils.parametrize.remove_parametrizations(m, "weight")),
    (nn.utils.weight_norm, "0: weight_norm, a hook; .*remove_weight_norm", nn.utils.remove_weight_norm),
    (nn.utils.spectral_norm, "0: spectral_norm, a hook; .*remove_spectral_norm", nn.utils.remove_spectral_norm),
    (lambda m: nn.utils.prune.random_unstructured(m, "weight", 0.5),
     r"0: pruning, a hook; .*prune.remove\(module, 'weight'\)", lambda m: nn.utils.prune.remove(m, "weight")),
])  # fmt: skip
def test_weights_that_are_computed_are_refused_until_they_are_plain(change, words, undo):
    import torch.nn.utils.prune

    module = vectors()
    change(module[0])
    refused(module, words)
    undo(module[0])
    same(module.double().eval(), x)


def test_modules_of_torch_compile_are_what_was_compiled():
    module = torch.compile(drawn(vectors()))
    found = farfield.from_torch(module)
    assert np.allclose(found(x), module._orig_mod(x).detach(), rtol=1e-9)
    module.register_forward_hook(lambda m, args, out: out + 1)
    refused(module, "the module: a forward hook")
    module = torch.compile(vectors())
    module.forward = far
    refused(module, "its forward is replaced")
    inside = Own()
    inside.act = torch.compile(inside.act)
    inside.compile()
    assert farfield.certify(inside, seconds=0).bounded


@pytest.mark.filterwarnings("ignore")
def test_modules_in_other_forms_say_what_to_give():
    refused(torch.jit.script(vectors()), "TorchScript; give the module that it was made of")
    refused(nn.Sequential(nn.Linear(5, 5), torch.jit.script(vectors())), "1: TorchScript")
    refused(nn.DataParallel(vectors()), r"DataParallel; give its \.module")
    refused(nn.Sequential(nn.LazyLinear(5)), "0: LazyLinear, whose weights have no shape yet")
    with pytest.raises(farfield.ArgError, match="is no torch.nn.Module"):
        farfield.from_torch(nn.Linear)
    assert farfield.certify(torch.fx.symbolic_trace(vectors()), seconds=0).bounded


# ---- weights ----


def test_weights_are_finite_plain_numbers():
    for value, words in ((np.nan, "nan"), (-np.inf, "-inf")):
        module = Own()
        module.a.weight.data[2, 3] = value
        with pytest.raises(farfield.DataError, match=f"a.weight holds {words}; weights must be finite"):
            farfield.from_torch(module)
    refused(nn.Sequential(nn.Linear(5, 1, device="meta")), r"0\.weight is torch\.float32 \(meta device\)")
    refused(nn.Sequential(nn.Linear(5, 1, dtype=torch.complex64)), r"0\.weight is torch\.complex64")
    module = vectors()
    weight = module[0].weight
    del module[0].weight
    module[0].weight = 2 * weight
    refused(module, "0: weight is computed from other tensors")


class Strange(torch.Tensor):
    pass


def test_tensors_of_other_classes_are_refused():
    module = vectors()
    module[0].weight = nn.Parameter(torch.randn(8, 5).as_subclass(Strange))
    refused(module, "0: weight is a Strange, not a plain tensor")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_weights_of_all_types_and_strides_are_copied(dtype):
    module = vectors()
    module[0].weight = nn.Parameter(torch.randn(5, 8).t())
    found = farfield.from_torch(module.to(dtype))
    assert np.allclose(found(x), module.double()(x).detach(), rtol=1e-9)


def test_rms_norm_in_halves_needs_a_number():
    refused(nn.Sequential(nn.Linear(5, 8), nn.RMSNorm(8)).bfloat16(), "1: RMSNorm with eps=None in torch.bfloat16")
    small = nn.Sequential(nn.Linear(5, 8), nn.RMSNorm(8))
    small[0].weight.data *= 1e-4
    small[0].bias.data *= 1e-4
    assert "rms(eps=1.19209" in farfield.from_torch(small).arch  # of float32, where it counts


def test_one_layer_for_two_has_no_tangent_kernel():
    torch.manual_seed(1)
    act, square = nn.Tanh(), nn.Linear(8, 8)
    same(nn.Sequential(nn.Linear(5, 8), act, nn.Linear(8, 8), act, nn.Linear(8, 1)).double(), x)
    module = nn.Sequential(nn.Linear(5, 8), act, square, act, square, nn.Linear(8, 1)).double()
    with pytest.raises(farfield.ArchError, match=r"4\.weight a second time, 4\.bias a second time"):
        same(module, x).empirical_ntk(x)
    tied = nn.Sequential(nn.Linear(5, 5), act, nn.Linear(5, 5)).double()
    tied[2].weight = tied[0].weight
    for network in (same(tied, x), pickle.loads(pickle.dumps(same(tied, x)))):
        with pytest.raises(farfield.ArchError, match=r"2\.weight a second time, which"):
            network.empirical_ntk(x)


# ---- forwards that a trace does not show ----


def by_type(m, x):
    y = m.b(m.act(m.a(x)))
    return y + y if isinstance(x, torch.Tensor) else y


def by_dtype(m, x):
    linear = next(m.parameters()).dtype == torch.float32
    return m.b(m.a(x)) if linear else m.b(m.act(m.a(x)))


def by_gradients(m, x):
    return m.b(m.a(x)) if torch.is_grad_enabled() else m.b(m.act(m.a(x)))


def counting(m, x):
    m.calls = getattr(m, "calls", 0) + 1
    return m.b(m.act(m.a(x)))


def remembering(m, x):
    h = m.act(m.a(x))
    h, m.kept = (h + m.kept if hasattr(m, "kept") else h), h
    return m.b(h)


def written(m, x):
    h = m.a(x)
    g = m.act(h)
    h.data.relu_()
    return m.b(g)


def under_a_name(m, x):
    h = m.a(x)
    name = h
    h += m.square(h)
    return m.b(h + m.act(name))


def under_a_skip(m, x):
    h = m.a(x)
    return m.b(h + torch.relu_(h))


@pytest.mark.parametrize("forward, words", [
    (by_type, "something else on numbers than when it is traced"),
    (by_dtype, "something else in float64"),
    (by_gradients, "something else with gradients"),
    (counting, "its forward changes calls"),
    (remembering, "no common source|when it is called again"),
    (written, "relu_: relu_.., whose result is not used"),
    (under_a_name, "something else on numbers than when it is traced"),
    (under_a_skip, "a is used after a function in place has changed it"),
    (lambda m, x: m.b(torch.add(m.act(m.a(x)), m.square(m.act(m.a(x))), alpha=1 + 1e-9)), r"add: add\(\)"),
    (lambda m, x: m.b(nn.functional.dropout(m.a(x), 1e-9)), r"dropout: dropout\(\)"),
    (lambda m, x: m.b(m.act(m.a(x)).view(2, -1)), r"view: view\(\)"),
    (lambda m, x: m.b(m.act(m.a(x)) + torch.rand(1)), r"a sum with \(1,\) numbers"),
    (lambda m, x: (m.b(m.a(x)), x), "one input and one output"),
    (lambda m, x: m.b(m.act(m.a(x))) if x.sum() > 0 else x, "cannot be traced"),
])  # fmt: skip
def test_what_a_trace_does_not_show_is_found(forward, words):
    refused(Own(forward), words)


class Perhaps(Own):
    def forward(self, x, linear=None):
        return self.b(self.a(x) if linear else self.act(self.a(x)))


class Default(Own):
    def forward(self, x, linear=True):
        return self.b(self.a(x)) if linear is True else self.b(self.act(self.a(x)))


def test_arguments_are_their_defaults():
    assert farfield.certify(Perhaps(), seconds=0).bounded is True
    assert farfield.certify(Default(), seconds=0).bounded is False
    outer = Own(lambda m, x: m.act(x, True))
    outer.act = Perhaps()
    refused(outer, "act: Perhaps of more than one argument")
    outer.f = lambda m, x: m.act(x, linear=None)
    assert farfield.certify(outer, seconds=0).bounded is True


class Twice(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.attn, self.norm, self.f = nn.MultiheadAttention(6, 2, batch_first=True), nn.LayerNorm(6), f
        self.register_buffer("hidden", torch.ones(7, 7, dtype=torch.bool).triu(1))

    def forward(self, x):
        return self.f(self, x)


@pytest.mark.parametrize("f, words", [
    (lambda m, x: m.attn(m.norm(x), x, x)[0], "of several inputs"),
    (lambda m, x: m.attn(x, x, x, key_padding_mask=m.hidden)[0], "of several inputs, or with a mask"),
    (lambda m, x: m.attn(x, x, x, attn_mask=~m.hidden)[0], "a mask that is not causal"),
    (lambda m, x: m.attn(x, x, x, is_causal=True)[0], "is_causal without its mask"),
    (lambda m, x: m.attn(x, x, x)[1], r"x\[1\]"),
    (lambda m, x: m.norm(x).mean(1, dtype=torch.float16), r"mean\(\)"),
    (lambda m, x: m.norm(x).flatten(end_dim=1), r"flatten\(\)"),
])  # fmt: skip
def test_arguments_of_attention_and_of_functions_count(f, words):
    refused(Twice(f), words, (7, 6))


def inside_out(m, x):
    h = m.a(x).flatten(1)
    h += m.square(h)
    return m.b(nn.functional.dropout(torch.tanh_(h), 0.5, m.training).view(x.shape[0], -1))


def test_usual_idioms_are_read():
    """In place, without harm; dropout by the mode; a cache; lists of parameters that nobody calls."""
    module = Own(inside_out).double()
    module.numbers, module.best = nn.ParameterList([nn.Parameter(torch.ones(2))]), np.nan
    farfield.from_torch(module)
    assert module.training and not hasattr(module, "_tensor_constant0")  # left as it was
    same(module.eval(), x)

    def caching(m, x):
        m.cache = m.act(m.a(x))
        return m.b(m.cache)

    same(Own(caching).double().eval(), x)


class Reversed(nn.Sequential):
    def __iter__(self):
        return iter([*self._modules.values()][::-1])


def test_a_subclass_of_sequential_goes_its_own_way():
    same(Reversed(nn.Linear(8, 1), nn.Tanh(), nn.Linear(5, 8)).double(), x)


class AlwaysTraining(Own):
    def eval(self):
        return self


def test_evaluation_is_evaluation():
    refused(AlwaysTraining().train(), r"stays in training mode after \.eval")

    def forward(m, x):
        return m.b(m.a(x) if m.training else m.act(m.a(x)))

    assert farfield.certify(Own(forward).train(), seconds=0).bounded is True


class Liar(nn.Sequential):
    """Its copies are another module."""

    def __deepcopy__(self, memo):
        return vectors()


def test_copies_are_faithful():
    assert farfield.certify(Liar(nn.Linear(5, 1)), seconds=0).bounded is False
    module = vectors()
    module.lock = threading.Lock()
    refused(module, "refused: the module: cannot be copied .*lock")


def test_the_state_of_pytorch_does_not_matter():
    module = vectors()
    with torch.inference_mode():
        made = vectors()
        assert farfield.certify(module, seconds=0).bounded
    assert farfield.certify(made, seconds=0).bounded
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.device("meta"):
        assert farfield.certify(module, seconds=0).bounded
