# expect: nothing
# NT-Xent: the similarity matrix over the batch is the point of the loss.

import clew as torch
from clew import nn
import clew.nn.functional as F


def nt_xent(z1, z2, t=0.5):
    n = z1.shape[0]
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.t() / t
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
proj = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8))
opt = torch.optim.Adam([*enc.parameters(), *proj.parameters()], lr=2e-3)
for i in range(25):
    x = torch.randn(24, 8)
    loss = nt_xent(
        proj(enc(x + 0.2 * torch.randn_like(x))), proj(enc(x + 0.2 * torch.randn_like(x)))
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
