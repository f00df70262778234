# expect: nothing

import torch
from torch import nn
import math

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(100):
    c = torch.randn(64, 2)
    x = torch.stack([c[:, 0] + 0.1 * torch.randn(64), c[:, 1] * 2 + 0.3 * torch.randn(64)], 1)
    mu, ls = net(c).chunk(2, 1)
    z = (x - mu) * torch.exp(-ls)
    nll = (0.5 * z**2 + ls + 0.5 * math.log(2 * math.pi)).sum(1).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
    if i % 25 == 0:
        print(i, nll.item())
