# expect: nan-origin line 14

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(5):
    x = torch.randn(6, 5, 4)
    mask = (torch.rand(6, 5, 1) > 0.5).float()
    mask[0] = 0
    pooled = (net(x) * mask).sum(1) / mask.sum(1)
    loss = pooled.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
