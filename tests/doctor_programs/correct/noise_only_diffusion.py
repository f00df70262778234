# expect: nothing
# Denoising diffusion with a time embedding.

import math

import clew as torch
from clew import nn


class Eps(nn.Module):
    def __init__(self, d=2, h=32):
        super().__init__()
        self.h = h
        self.inp = nn.Linear(d, h)
        self.time = nn.Sequential(nn.Linear(h, h), nn.SiLU())
        self.net = nn.Sequential(nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, d))

    def forward(self, x, t):
        f = torch.exp(-math.log(1000) * torch.arange(self.h // 2) / (self.h // 2))
        a = t[:, None].float() * f[None]
        return self.net(self.inp(x) + self.time(torch.cat([a.sin(), a.cos()], 1)))


torch.manual_seed(0)
betas = torch.linspace(1e-4, 0.05, 50)
abar = torch.cumprod(1 - betas, 0)
net = Eps()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for i in range(30):
    x0 = torch.randn(64, 2) * 0.2 + torch.tensor([1.0, -1.0])
    t = torch.randint(0, 50, (64,))
    e = torch.randn_like(x0)
    xt = abar[t, None].sqrt() * x0 + (1 - abar[t, None]).sqrt() * e
    loss = (net(xt, t) - e).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
