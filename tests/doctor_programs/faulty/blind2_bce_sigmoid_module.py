# expect: loss-activation-mismatch line 7, 15, 19

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
D = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1), nn.Sigmoid())
G = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
og = torch.optim.Adam(G.parameters(), 1e-3)
od = torch.optim.Adam(D.parameters(), 1e-3)
crit = nn.BCEWithLogitsLoss()
for i in range(30):
    real = torch.randn(32, 2) + 1
    fake = G(torch.randn(32, 3))
    dl = crit(D(real), torch.ones(32, 1)) + crit(D(fake.detach()), torch.zeros(32, 1))
    od.zero_grad()
    dl.backward()
    od.step()
    gl = crit(D(fake), torch.ones(32, 1))
    og.zero_grad()
    gl.backward()
    og.step()
print(dl.item(), gl.item())
