# expect: loss-activation-mismatch line 7, 11, 16, 20

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
D = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1), nn.Sigmoid())
G = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
od = torch.optim.Adam(D.parameters(), lr=1e-3)
og = torch.optim.Adam(G.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
one, zero = torch.ones(32, 1), torch.zeros(32, 1)
for i in range(80):
    real = torch.randn(32, 2) + 1
    fake = G(torch.randn(32, 3))
    ld = bce(D(real), one) + bce(D(fake.detach()), zero)
    od.zero_grad()
    ld.backward()
    od.step()
    lg = bce(D(fake), one)
    og.zero_grad()
    lg.backward()
    og.step()
print(ld.item(), lg.item())
