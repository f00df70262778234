# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
feat = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2))
out = nn.Linear(16, 1)
og = torch.optim.Adam(G.parameters(), lr=1e-3)
od = torch.optim.Adam([*feat.parameters(), *out.parameters()], lr=1e-3)
for i in range(30):
    real = torch.randn(32, 2) * 0.5 + 2
    fake = G(torch.randn(32, 4))
    dl = F.softplus(-out(feat(real))).mean() + F.softplus(out(feat(fake.detach()))).mean()
    od.zero_grad()
    dl.backward()
    od.step()
    gl = F.mse_loss(feat(fake).mean(0), feat(real).mean(0))
    og.zero_grad()
    gl.backward()
    og.step()
