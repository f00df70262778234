# expect: nothing

import math
import torch
from torch import nn


class Eps(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2 + 8, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2)
        )

    def forward(self, x, t):
        f = torch.exp(torch.arange(4) * -0.7)
        e = t[:, None].float() * f
        return self.net(torch.cat([x, e.sin(), e.cos()], 1))


torch.manual_seed(0)
T = 50
beta = torch.linspace(1e-3, 0.1, T)
abar = torch.cumprod(1 - beta, 0)
net = Eps()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for it in range(150):
    ang = torch.rand(64) * 2 * math.pi
    x0 = torch.stack([ang.cos(), ang.sin()], 1)
    t = torch.randint(0, T, (64,))
    n = torch.randn_like(x0)
    xt = abar[t].sqrt()[:, None] * x0 + (1 - abar[t]).sqrt()[:, None] * n
    loss = ((net(xt, t) - n) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, loss.item())
with torch.no_grad():
    x = torch.randn(16, 2)
    for t in reversed(range(T)):
        e = net(x, torch.full((16,), t))
        x = (x - beta[t] / (1 - abar[t]).sqrt() * e) / (1 - beta[t]).sqrt()
        if t:
            x = x + beta[t].sqrt() * torch.randn_like(x)
print(x.norm(dim=1).mean())
