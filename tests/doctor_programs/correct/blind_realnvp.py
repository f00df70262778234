# expect: nothing
# RealNVP flow: masks, exp of bounded scales, summed log-determinants.

import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.n = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.n(a).chunk(2, 1)
        s = s.tanh()
        b = b * s.exp() + t
        return torch.cat((b, a) if self.flip else (a, b), 1), s.sum(1)


torch.manual_seed(0)
flow = nn.ModuleList(Coupling(i % 2 == 1) for i in range(4))
opt = torch.optim.Adam(flow.parameters(), 5e-3)
base = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
for _ in range(25):
    z = torch.randn(64, 2)
    x = torch.stack([z[:, 0], z[:, 1] + z[:, 0] ** 2], 1)
    ld = torch.zeros(64)
    for f in flow:
        x, d = f(x)
        ld = ld + d
    l = -(base.log_prob(x) + ld).mean()
    opt.zero_grad()
    l.backward()
    opt.step()
