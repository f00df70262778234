# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(2, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3)
od = torch.optim.Adam(D.parameters(), lr=1e-3)
for i in range(30):
    real = torch.randn(32, 2) + 2
    with torch.no_grad():
        fake = G(torch.randn(32, 2))
    d = F.softplus(D(fake)).mean() + F.softplus(-D(real)).mean()
    od.zero_grad()
    d.backward()
    od.step()
    g = F.softplus(-D(G(torch.randn(32, 2)))).mean()
    og.zero_grad()
    g.backward()
    og.step()
samples = G(torch.randn(8, 2)).detach()
