# expect: nothing
# Cyclic weights multiply a loss term with exactly zero for a while.

import torch
from torch import nn

torch.manual_seed(0)
enc, dec = nn.Linear(8, 6), nn.Linear(3, 8)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=5e-3)
for step in range(60):
    x = torch.randn(24, 8)
    mu, lv = enc(x).chunk(2, 1)
    z = mu + torch.randn_like(mu) * (lv / 2).exp()
    rec = (dec(z) - x).pow(2).sum(1).mean()
    kl = 0.5 * (mu.pow(2) + lv.exp() - 1 - lv).sum(1).mean()
    beta = min(1.0, max(0.0, (step % 20 - 8) / 10))
    loss = rec + beta * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
