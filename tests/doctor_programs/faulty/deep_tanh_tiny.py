# expect: vanishing-gradient line 14, 15, 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]

layers = []
for _ in range(10):
    lin = nn.Linear(8, 8)
    nn.init.normal_(lin.weight, std=0.02)
    layers += [lin, nn.Tanh()]
net = nn.Sequential(*layers, nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(20):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
