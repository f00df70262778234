# expect: loss-activation-mismatch line 8, 16, 20
# The discriminator ends in a sigmoid, the criterion applies another.

import clew as torch
from clew import nn

torch.manual_seed(0)
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())
G = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
od = torch.optim.Adam(D.parameters(), lr=1e-3)
og = torch.optim.Adam(G.parameters(), lr=1e-3)
crit = nn.BCEWithLogitsLoss()
for it in range(25):
    real = torch.randn(32, 2) + torch.tensor([2.0, -1.0])
    fake = G(torch.randn(32, 3))
    ld = crit(D(real), torch.ones(32, 1)) + crit(D(fake.detach()), torch.zeros(32, 1))
    od.zero_grad()
    ld.backward()
    od.step()
    lg = crit(D(fake), torch.ones(32, 1))
    og.zero_grad()
    lg.backward()
    og.step()
print(ld.item(), lg.item())
