# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3)
od = torch.optim.Adam(D.parameters(), lr=1e-3)
for i in range(30):
    real = torch.randn(32, 2) * 0.5 + 2
    fake = G(torch.randn(32, 4))
    dl = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    od.zero_grad()
    dl.backward()
    od.step()
    gl = F.softplus(-D(fake)).mean() + 1e-3 * fake.pow(2).mean()
    og.zero_grad()
    gl.backward()
    og.step()
