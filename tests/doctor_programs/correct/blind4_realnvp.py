# expect: nothing

import clew as torch
import clew.nn as nn
import math


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.s = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        a, b = x[:, :1], x[:, 1:]
        if self.flip:
            a, b = b, a
        s = self.s(a)
        b = b * torch.exp(s) + self.t(a)
        out = torch.cat([b, a], 1) if self.flip else torch.cat([a, b], 1)
        return out, s.sum(1)


torch.manual_seed(0)
flow = nn.ModuleList([Coupling(i % 2 == 0) for i in range(4)])
opt = torch.optim.Adam(flow.parameters(), lr=3e-3)
for it in range(80):
    u = torch.randn(64, 1)
    x = torch.cat([u, u**2 * 0.5 + 0.2 * torch.randn(64, 1)], 1)
    ld = torch.zeros(64)
    for c in flow:
        x, l = c(x)
        ld = ld + l
    nll = (0.5 * (x**2).sum(1) + math.log(2 * math.pi) - ld).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
    if it % 20 == 0:
        print(it, nll.item())
