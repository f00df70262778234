# expect: nothing

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


def nt_xent(z1, z2, tau=0.5):
    n = z1.shape[0]
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.t() / tau
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), -1e9)
    tgt = torch.cat([torch.arange(n, 2 * n), torch.arange(0, n)])
    return F.cross_entropy(sim, tgt)


torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
data = torch.randn(200, 10)
for i in range(80):
    x = data[torch.randint(0, 200, (32,))]
    loss = nt_xent(enc(x + 0.1 * torch.randn_like(x)), enc(x + 0.1 * torch.randn_like(x)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
