# expect: exploding-gradient line 14

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]

layers = []
for _ in range(10):
    lin = nn.Linear(8, 8)
    lin.weight.data.mul_(8)
    layers.append(lin)
net = nn.Sequential(*layers, nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-6)
for i in range(10):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
