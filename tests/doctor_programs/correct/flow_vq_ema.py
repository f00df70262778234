# expect: nothing

import torch
from torch import nn


class VQ(nn.Module):
    def __init__(self, k, d):
        super().__init__()
        self.register_buffer("code", torch.randn(k, d))
        self.register_buffer("n", torch.ones(k))

    def forward(self, z):
        idx = torch.cdist(z, self.code).argmin(1)
        q = self.code[idx]
        if self.training:
            with torch.no_grad():
                one = nn.functional.one_hot(idx, len(self.code)).float()
                self.n.mul_(0.9).add_(0.1 * one.sum(0))
                self.code.mul_(0.9).add_(0.1 * (one.t() @ z) / self.n.clamp_min(1e-3)[:, None])
        return z + (q - z).detach(), (z - q).pow(2).mean()


torch.manual_seed(0)
e, v, d = nn.Linear(10, 4), VQ(8, 4), nn.Linear(4, 10)
opt = torch.optim.Adam([*e.parameters(), *d.parameters()], lr=1e-3)
for i in range(40):
    x = torch.randn(32, 10)
    q, commit = v(e(x))
    loss = (d(q) - x).pow(2).mean() + 0.25 * commit
    opt.zero_grad()
    loss.backward()
    opt.step()
