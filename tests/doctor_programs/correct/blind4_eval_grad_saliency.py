# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(80):
    x = torch.randn(32, 6)
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    loss.backward()
    opt.step()
net.eval()
x = torch.randn(16, 6, requires_grad=True)
net(x)[:, 1].sum().backward()
print(x.grad.abs().mean(0))
