# expect: nothing

import torch
from torch import nn
import math

torch.manual_seed(0)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList(
            [nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 2)) for _ in range(3)]
        )

    def log_prob(self, x):
        ld = 0
        for k, n in enumerate(self.nets):
            a, b = x[:, :1], x[:, 1:]
            s, t = n(a).chunk(2, 1)
            s = torch.tanh(s)
            b = (b - t) * torch.exp(-s)
            ld = ld - s.squeeze(1)
            x = torch.cat([b, a], 1)
        base = -0.5 * (x**2).sum(1) - math.log(2 * math.pi)
        return base + ld


flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=3e-3)
for i in range(100):
    u = torch.randn(64, 1)
    x = torch.cat([u, torch.sin(u) + 0.2 * torch.randn(64, 1)], 1)
    loss = -flow.log_prob(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 25 == 0:
        print(i, loss.item())
