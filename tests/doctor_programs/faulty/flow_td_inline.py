# expect: target-not-detached line 14, 15

import torch
import torch.nn as nn

torch.manual_seed(0)
v = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(v.parameters(), lr=1e-3)
for i in range(40):
    s = torch.randn(32, 3)
    s2 = 0.9 * s + 0.1 * torch.randn(32, 3)
    r = s[:, :1]
    d = (torch.rand(32, 1) < 0.1).float()
    delta = r + 0.95 * v(s2) * (1 - d) - v(s)
    loss = delta.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
