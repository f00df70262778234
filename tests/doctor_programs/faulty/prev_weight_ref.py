# expect: aliased-buffer line 14

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]

net = nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(20):
    before = net.weight.detach()
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    moved = (net.weight - before).norm().item()
    print(moved)
