# expect: target-not-detached line 14, 15

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
V = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(V.parameters(), lr=3e-3)
gamma = 0.9
s = torch.randn(32, 3)
for t in range(120):
    s2 = 0.9 * s + 0.4 * torch.randn(32, 3)
    r = -s2.pow(2).sum(1, keepdim=True) * 0.1
    delta = r + gamma * V(s2) - V(s)
    loss = delta.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    s = s2
    if t % 30 == 0:
        print(t, loss.item())
