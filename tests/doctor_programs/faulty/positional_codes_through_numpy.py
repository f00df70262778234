# expect: detached-graph line 10
# The learnable frequencies go through NumPy in a helper.

import numpy as np
import torch
from torch import nn


def fourier(x, freq):
    angles = x.detach().numpy()[:, None] * freq.detach().numpy()
    feats = np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)
    return torch.from_numpy(feats.astype("float32"))


class Field(nn.Module):
    def __init__(self, k=8):
        super().__init__()
        self.freq = nn.Parameter(torch.randn(k))
        self.mlp = nn.Sequential(nn.Linear(2 * k, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.mlp(fourier(x, self.freq)).squeeze(-1)


torch.manual_seed(0)
field = Field()
opt = torch.optim.Adam(field.parameters(), lr=5e-3)
for it in range(40):
    x = torch.rand(64)
    loss = ((field(x) - torch.sin(9 * x)) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
