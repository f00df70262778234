# expect: nothing

import torch
from torch import nn

# discriminator with two backward calls (real, fake) before one step
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
D = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
og, od = torch.optim.Adam(G.parameters(), lr=1e-3), torch.optim.Adam(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for it in range(100):
    D.zero_grad()
    real = torch.randn(32, 2) * 0.3 + 1
    er = bce(D(real).view(-1), torch.full((32,), 1.0))
    er.backward()
    fake = G(torch.randn(32, 4))
    ef = bce(D(fake.detach()).view(-1), torch.full((32,), 0.0))
    ef.backward()
    od.step()
    G.zero_grad()
    eg = bce(D(fake).view(-1), torch.full((32,), 1.0))
    eg.backward()
    og.step()
    if it % 25 == 0:
        print(it, (er + ef).item(), eg.item())
