# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

import math

opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(40):
    for g in opt.param_groups:
        g["lr"] = 0.05 * (1 + math.cos(math.pi * i / 40))
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
