# expect: detached-graph line 16
# The gate's choice goes through argmax and one_hot, so the router is never trained.

import torch
import torch.nn.functional as F
from torch import nn


class MoE(nn.Module):
    def __init__(self, d=8, n=3):
        super().__init__()
        self.router = nn.Linear(d, n)
        self.experts = nn.ModuleList([nn.Linear(d, 1) for _ in range(n)])

    def forward(self, x):
        gate = F.one_hot(self.router(x).argmax(-1), 3).float()
        ys = torch.cat([e(x) for e in self.experts], dim=1)
        return (gate * ys).sum(1)


torch.manual_seed(0)
moe = MoE()
opt = torch.optim.Adam(moe.parameters(), lr=3e-3)
for _ in range(30):
    x = torch.randn(32, 8)
    opt.zero_grad()
    loss = (moe(x) - x.abs().sum(1)).pow(2).mean()
    loss.backward()
    opt.step()
print(loss.item())
