# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(f.parameters(), lr=2e-3)
base = torch.randn(100, 10)


def barlow(a, b, lam=0.01):
    a = (a - a.mean(0)) / (a.std(0) + 1e-5)
    b = (b - b.mean(0)) / (b.std(0) + 1e-5)
    c = a.t() @ b / a.shape[0]
    on = (torch.diagonal(c) - 1).pow(2).sum()
    off = c.pow(2).sum() - torch.diagonal(c).pow(2).sum()
    return on + lam * off


for i in range(80):
    x = base[torch.randint(0, 100, (32,))]
    loss = barlow(f(x + 0.1 * torch.randn_like(x)), f(x + 0.1 * torch.randn_like(x)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
