# expect: nan-origin line 15
# The distance of a sample to itself is zero, and the root's derivative there is not finite.

import torch
from torch import nn

torch.manual_seed(2)
encoder = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 3))
opt = torch.optim.Adam(encoder.parameters(), lr=1e-3)
x = torch.randn(10, 5)
goal = (x[:, None] - x[None]).pow(2).sum(-1).sqrt()
for step in range(6):
    z = encoder(x)
    sq = (z[:, None] - z[None]).pow(2).sum(-1)
    dist = torch.sqrt(sq)
    stress = (dist - goal).pow(2).mean()
    opt.zero_grad()
    stress.backward()
    opt.step()
print(stress.item())
