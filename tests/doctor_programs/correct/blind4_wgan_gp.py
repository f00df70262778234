# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
C = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
og = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.0, 0.9))
oc = torch.optim.Adam(C.parameters(), lr=5e-4, betas=(0.0, 0.9))


def gp(real, fake):
    a = torch.rand(real.size(0), 1)
    x = (a * real + (1 - a) * fake).requires_grad_(True)
    g = torch.autograd.grad(C(x).sum(), x, create_graph=True)[0]
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


for it in range(40):
    for _ in range(3):
        real = torch.randn(32, 2) * 0.5 + 2
        with torch.no_grad():
            fake = G(torch.randn(32, 3))
        lc = C(fake).mean() - C(real).mean() + 10 * gp(real, fake)
        oc.zero_grad()
        lc.backward()
        oc.step()
    lg = -C(G(torch.randn(32, 3))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    if it % 10 == 0:
        print(it, lc.item(), lg.item())
