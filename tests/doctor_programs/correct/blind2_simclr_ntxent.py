# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def nt_xent(z, t=0.5):
    n = z.size(0) // 2
    z = F.normalize(z, dim=1)
    sim = z @ z.T / t
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), -1e9)
    tgt = torch.cat([torch.arange(n) + n, torch.arange(n)])
    return F.cross_entropy(sim, tgt)


for i in range(30):
    x = torch.randn(24, 10)
    z = net(torch.cat([x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)]))
    loss = nt_xent(z)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
