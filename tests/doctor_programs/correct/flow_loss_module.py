# expect: nothing

import torch
import torch.nn as nn


class CCC(nn.Module):
    def forward(self, a, b):
        a = (a - a.mean()) / (a.std() + 1e-6)
        b = (b - b.mean()) / (b.std() + 1e-6)
        return 1 - (a * b).mean()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
crit = CCC()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(32, 6)
    loss = crit(net(x), x[:, :2])
    opt.zero_grad()
    loss.backward()
    opt.step()
