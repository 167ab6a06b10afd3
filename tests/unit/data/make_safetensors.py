#!/usr/bin/env python3
"""Writes the .safetensors files beside this script with PyTorch and the published safetensors
package: state_dicts as people have them, with inputs x and outputs y of the same module."""
import os

import torch
from safetensors.torch import save_file
from torch import nn

os.chdir(os.path.dirname(os.path.abspath(__file__)))
torch.manual_seed(7)
torch.set_num_threads(1)


class Skip(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class Named(nn.Module):
    """Layers as attributes, in an order of names that is not the order of layers."""

    def __init__(self):
        super().__init__()
        self.fc1, self.ln1 = nn.Linear(3, 11), nn.LayerNorm(11)
        self.fc2, self.ln2 = nn.Linear(11, 7), nn.LayerNorm(7, bias=False)
        self.fc10 = nn.Linear(7, 2, bias=False)

    def forward(self, x):
        x = torch.tanh(self.ln1(self.fc1(x)))
        x = torch.tanh(self.ln2(self.fc2(x)))
        return self.fc10(x)


def shake(module):
    """Norms start at 1 and 0, where a mistake would not show."""
    with torch.no_grad():
        for name, p in module.named_parameters():
            p.add_(0.3 * torch.randn_like(p))
        for name, b in module.named_buffers():
            if "running" in name:
                b.copy_(0.5 + torch.rand_like(b))


def write(name, module, metadata=None, cast=None):
    shake(module)
    module = module.to(cast) if cast else module
    module.eval()
    state = {k: v.clone() for k, v in module.state_dict().items()}
    save_file(state, name + ".safetensors", metadata=metadata)
    x = 3 * torch.randn(13, 3, dtype=torch.float64)
    module = module.double()
    with torch.no_grad():
        save_file({"x": x, "y": module(x)}, name + "_xy.safetensors")


write("sequential", nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5), nn.ReLU(), nn.Linear(5, 2)))
write("batchnorm", nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 7), nn.BatchNorm1d(7, affine=False),
                                 nn.GELU(), nn.Dropout(), nn.Linear(7, 2)),
      metadata={"arch": "batchnorm(eps=1e-5, affine) dense(7) batchnorm(eps=1e-5) gelu dense(2)",
                "author": "grün"})
write("skip", nn.Sequential(nn.Linear(3, 5), nn.RMSNorm(5, eps=1e-6),
                            Skip(nn.Linear(5, 11), nn.SiLU(), nn.Linear(11, 5)),
                            nn.GroupNorm(1, 5), nn.Linear(5, 2)))
write("named", Named())
write("half", nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)), cast=torch.float16)
write("bfloat", nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)), cast=torch.bfloat16)
wrapped = nn.DataParallel(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)))
write("wrapped", wrapped)

save_file(
    {
        "f64": torch.tensor([[0.1, -2.5e300, 5e-324]], dtype=torch.float64),
        "f32": torch.tensor([[0.1], [-3.4e38], [1e-45]], dtype=torch.float32),
        "f16": torch.tensor([0.1, -65504.0, 6e-8, float("inf"), float("-inf")], dtype=torch.float16),
        "bf16": torch.tensor([0.1, -3.3e38, 1e-40, 1.0], dtype=torch.bfloat16),
        "i64": torch.tensor([-(2**53), 7], dtype=torch.int64),
        "i32": torch.tensor([-(2**31), 2**31 - 1], dtype=torch.int32),
        "i16": torch.tensor([-(2**15), 2**15 - 1], dtype=torch.int16),
        "i8": torch.tensor([-128, 127], dtype=torch.int8),
        "u8": torch.tensor([0, 255], dtype=torch.uint8),
        "bool": torch.tensor([True, False, True]),
        "scalar": torch.tensor(11, dtype=torch.int64),
        "empty": torch.zeros(0, 3),
        "cube": torch.arange(30, dtype=torch.float32).reshape(2, 3, 5),
    },
    "types.safetensors",
    metadata={"format": "pt", "note": "all types"},
)
