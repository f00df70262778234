# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5), nn.Sigmoid())
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
crit = nn.BCELoss()
for i in range(80):
    x = torch.randn(32, 8)
    y = (x[:, :5] > 0.3).float()
    p = net(x)
    loss = crit(p, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item(), ((p > 0.5).float() == y).float().mean().item())
