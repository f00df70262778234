# expect: nothing
# A small DDPM with sinusoidal time embedding and EMA weights for sampling.

import math
import torch
from torch import nn

T = 30
beta = torch.linspace(1e-4, 0.2, T)
abar = (1 - beta).cumprod(0)


class Eps(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Linear(8, 24)
        self.i = nn.Linear(2, 24)
        self.o = nn.Sequential(nn.SiLU(), nn.Linear(24, 2))
        self.register_buffer("freq", torch.exp(torch.arange(4) * -(math.log(1000.0) / 3)))

    def forward(self, x, t):
        e = t[:, None] * self.freq
        return self.o(self.i(x) + self.t(torch.cat([e.sin(), e.cos()], -1)))


torch.manual_seed(0)
net = Eps()
ema = {k: v.clone() for k, v in net.state_dict().items()}
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for it in range(30):
    x0 = torch.randn(64, 2) * 0.2 + 1
    t = torch.randint(0, T, (64,))
    n = torch.randn_like(x0)
    a = abar[t][:, None]
    loss = (net(a.sqrt() * x0 + (1 - a).sqrt() * n, t.float()) - n).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for k, v in net.state_dict().items():
        ema[k].mul_(0.95).add_(v, alpha=0.05)
net.load_state_dict(ema)
net.eval()
with torch.no_grad():
    x = torch.randn(8, 2)
    for t in reversed(range(T)):
        e = net(x, torch.full((8,), float(t)))
        x = (x - beta[t] / (1 - abar[t]).sqrt() * e) / (1 - beta[t]).sqrt() + (
            beta[t].sqrt() * torch.randn_like(x) if t else 0
        )
print(x.mean())
