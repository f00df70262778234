# expect: nan-origin line 11

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
x[:, 3] = 1.0
y = torch.randn(64, 1)
x = (x - x.mean(0)) / x.std(0)
net = nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(5):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
