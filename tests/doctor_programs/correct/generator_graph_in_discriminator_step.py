# expect: nothing
# Fakes are not detached in D's step; G's stray gradients are cleared before its own.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(526)
gen = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
disc = nn.Sequential(nn.Linear(1, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(gen.parameters(), lr=5e-3)
opt_d = torch.optim.Adam(disc.parameters(), lr=1e-2)


def offset():
    with torch.no_grad():
        return (gen(torch.randn(300, 2)).mean() - 2.0).abs().item()


first = offset()
for _ in range(160):
    real = 2.0 + 0.3 * torch.randn(32, 1)
    loss_d = F.softplus(-disc(real)).mean() + F.softplus(disc(gen(torch.randn(32, 2)))).mean()
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = F.softplus(-disc(gen(torch.randn(32, 2)))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
print(first, offset())
