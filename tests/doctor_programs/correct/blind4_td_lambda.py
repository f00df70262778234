# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
V = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(V.parameters(), lr=3e-3)
s = torch.randn(32, 3)
for t in range(120):
    s2 = 0.9 * s + 0.4 * torch.randn(32, 3)
    r = -s2.pow(2).sum(1, keepdim=True) * 0.1
    td_target = r + 0.9 * V(s2).detach()
    loss = nn.functional.mse_loss(V(s), td_target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    s = s2
    if t % 30 == 0:
        print(t, loss.item())
