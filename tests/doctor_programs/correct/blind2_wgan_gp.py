# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
C = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
oc = torch.optim.Adam(C.parameters(), lr=1e-3, betas=(0.0, 0.9))
for it in range(12):
    for _ in range(3):
        real = torch.randn(32, 2) + 1
        fake = G(torch.randn(32, 3)).detach()
        eps = torch.rand(32, 1)
        mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
        g = torch.autograd.grad(C(mix).sum(), mix, create_graph=True)[0]
        gp = ((g.norm(2, dim=1) - 1) ** 2).mean()
        lc = C(fake).mean() - C(real).mean() + 10 * gp
        oc.zero_grad()
        lc.backward()
        oc.step()
    lg = -C(G(torch.randn(32, 3))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
print(lc.item(), lg.item())
