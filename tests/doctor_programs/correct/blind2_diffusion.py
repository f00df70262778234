# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
T = 50
beta = torch.linspace(1e-4, 0.05, T)
abar = torch.cumprod(1 - beta, 0)
net = nn.Sequential(nn.Linear(3, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 2))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for i in range(50):
    a = torch.rand(64) * 6.28
    x0 = torch.stack([a.cos(), a.sin()], 1)
    t = torch.randint(0, T, (64,))
    eps = torch.randn_like(x0)
    xt = abar[t].sqrt()[:, None] * x0 + (1 - abar[t]).sqrt()[:, None] * eps
    loss = ((net(torch.cat([xt, t[:, None] / T], 1)) - eps) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
x = torch.randn(10, 2)
with torch.no_grad():
    for t in reversed(range(T)):
        e = net(torch.cat([x, torch.full((10, 1), t / T)], 1))
        x = (x - beta[t] / (1 - abar[t]).sqrt() * e) / (1 - beta[t]).sqrt()
        if t > 0:
            x += beta[t].sqrt() * torch.randn_like(x)
print(loss.item())
