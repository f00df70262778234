# expect: bad-init line 15, 22
# All experts are constant and copied from one; routing cannot tell them apart.

import copy

import torch
from torch import nn

torch.manual_seed(0)


def make_expert(d):
    e = nn.Sequential(nn.Linear(d, 12), nn.ReLU(), nn.Linear(12, d))
    for p in e.parameters():
        nn.init.constant_(p, 0.03)
    return e


class Mix(nn.Module):
    def __init__(self, d=5, n=3):
        super().__init__()
        proto = make_expert(d)
        self.experts = nn.ModuleList(copy.deepcopy(proto) for _ in range(n))
        self.gate = nn.Linear(d, n)

    def forward(self, x):
        g = torch.softmax(self.gate(x), -1)
        return sum(g[:, i : i + 1] * e(x) for i, e in enumerate(self.experts))


mix = Mix()
opt = torch.optim.Adam(mix.parameters(), lr=5e-3)
for i in range(25):
    x = torch.randn(32, 5)
    loss = nn.functional.mse_loss(mix(x), x.abs())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
