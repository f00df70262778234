# expect: missing-requires-grad or detached-graph line 11
# Everything is frozen, and the new head is frozen with it.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
net[2] = nn.Linear(16, 2)
for p in net.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(5):
    x = torch.randn(16, 6)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
