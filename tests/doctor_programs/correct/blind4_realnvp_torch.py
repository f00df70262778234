# expect: nothing

import torch
import torch.nn as nn
import math


class Coupling(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)
        self.s = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 2), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 2))

    def forward(self, x):
        xm = x * self.mask
        s = self.s(xm) * (1 - self.mask)
        t = self.t(xm) * (1 - self.mask)
        return xm + (1 - self.mask) * (x * s.exp() + t), s.sum(1)


torch.manual_seed(0)
masks = [torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])] * 2
flow = nn.ModuleList(Coupling(m) for m in masks)
opt = torch.optim.Adam(flow.parameters(), lr=2e-3)
for it in range(100):
    z = torch.randn(64, 2) * 0.5 + torch.tensor([1.0, -1.0])
    logdet = torch.zeros(64)
    for c in flow:
        z, l = c(z)
        logdet += l
    loss = -(-0.5 * (z**2).sum(1) - math.log(2 * math.pi) + logdet).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 25 == 0:
        print(it, loss.item())
