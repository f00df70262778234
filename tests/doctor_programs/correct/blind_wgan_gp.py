# expect: nothing
# WGAN with gradient penalty (create_graph) and five critic steps to one generator step.

import torch
from torch import nn, autograd

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og = torch.optim.Adam(G.parameters(), 1e-3, betas=(0.0, 0.9))
od = torch.optim.Adam(D.parameters(), 1e-3, betas=(0.0, 0.9))


def penalty(real, fake):
    a = torch.rand(len(real), 1)
    mix = (a * real + (1 - a) * fake).requires_grad_(True)
    (g,) = autograd.grad(D(mix).sum(), mix, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


for it in range(10):
    for p in D.parameters():
        p.requires_grad_(True)
    for _ in range(5):
        real = torch.randn(16, 2) + 2
        with torch.no_grad():
            fake = G(torch.randn(16, 2))
        ld = D(fake).mean() - D(real).mean() + 10 * penalty(real, fake)
        od.zero_grad()
        ld.backward()
        od.step()
    for p in D.parameters():
        p.requires_grad_(False)
    lg = -D(G(torch.randn(16, 2))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
