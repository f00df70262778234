# expect: loss-broadcast line 14

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = torch.sign(x[:, 0])
net = nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(20):
    opt.zero_grad()
    loss = torch.clamp(1 - y * net(x), min=0).mean()
    loss.backward()
    opt.step()
