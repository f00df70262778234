# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())
og = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
od = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCELoss()
for step in range(50):
    real = torch.randn(32, 2) + 2
    valid, fake_l = torch.ones(32, 1), torch.zeros(32, 1)
    og.zero_grad()
    gen = G(torch.randn(32, 4))
    gl = bce(D(gen), valid)
    gl.backward()
    og.step()
    od.zero_grad()
    dl = (bce(D(real), valid) + bce(D(gen.detach()), fake_l)) / 2
    dl.backward()
    od.step()
print(gl.item(), dl.item())
