# expect: zero-grad-before-step line 16
# Gradient accumulation whose clearing runs on every micro-batch, after backward, and step only
# at the fourth.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optim = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(8, 6)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)) / 4
    loss.backward()
    for p in net.parameters():
        p.grad.zero_()
    if i % 4 == 3:
        optim.step()
