# expect: loss-broadcast line 14

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(60):
    x = torch.randn(32, 5)
    y = x[:, :1].abs()
    w = torch.rand(32) + 0.5
    err = (net(x) - y) ** 2
    loss = (w * err).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
