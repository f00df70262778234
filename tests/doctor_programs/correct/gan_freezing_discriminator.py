# expect: nothing
# D's parameters are switched off while G is updated and on again for D.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(268)
gen = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
disc = nn.Sequential(nn.Linear(1, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(gen.parameters(), lr=5e-3)
opt_d = torch.optim.Adam(disc.parameters(), lr=5e-3)


def set_requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad = flag


def offset():
    with torch.no_grad():
        return (gen(torch.randn(300, 2)).mean() - 2.0).abs().item()


first = offset()
for _ in range(120):
    fake = gen(torch.randn(32, 2))
    set_requires_grad(disc, False)
    opt_g.zero_grad()
    F.softplus(-disc(fake)).mean().backward()
    opt_g.step()

    set_requires_grad(disc, True)
    opt_d.zero_grad()
    real = 2.0 + 0.3 * torch.randn(32, 1)
    loss_d = F.softplus(-disc(real)).mean() + F.softplus(disc(fake.detach())).mean()
    loss_d.backward()
    opt_d.step()
print("offset", first, offset())
