# expect: nothing
# The generator of a GAN samples in train mode, which is usual.

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
bce = nn.BCEWithLogitsLoss()
for i in range(20):
    real = torch.randn(32, 2) + 1
    fake = G(torch.randn(32, 4))
    ld = bce(D(real), torch.ones(32, 1)) + bce(D(fake.detach()), torch.zeros(32, 1))
    od.zero_grad()
    ld.backward()
    od.step()
    lg = bce(D(fake), torch.ones(32, 1))
    og.zero_grad()
    lg.backward()
    og.step()
G.eval()
with torch.no_grad():
    print(G(torch.randn(100, 4)).mean(0))
