# expect: nothing

import torch
from torch import nn
from torch.nn.utils import spectral_norm

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(
    spectral_norm(nn.Linear(2, 32)), nn.LeakyReLU(0.1), spectral_norm(nn.Linear(32, 1))
)
og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
od = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
for it in range(80):
    real = torch.randn(32, 2) + 2
    with torch.no_grad():
        fake = G(torch.randn(32, 4))
    ld = torch.relu(1 - D(real)).mean() + torch.relu(1 + D(fake)).mean()
    od.zero_grad()
    ld.backward()
    od.step()
    lg = -D(G(torch.randn(32, 4))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    if it % 20 == 0:
        print(it, ld.item(), lg.item())
