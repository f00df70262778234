# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
od = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
one, zero = torch.ones(32, 1), torch.zeros(32, 1)
for it in range(150):
    real = torch.randn(32, 2) * 0.2 + 1.0
    fake = G(torch.randn(32, 4))
    od.zero_grad()
    ld = bce(D(real), one) + bce(D(fake.detach()), zero)
    ld.backward()
    od.step()
    og.zero_grad()
    lg = bce(D(fake), one)
    lg.backward()
    og.step()
    if it % 50 == 0:
        print(it, ld.item(), lg.item())
