# expect: detached-graph line 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(20):
    opt.zero_grad()
    out = net(x)
    loss = torch.tensor(F.mse_loss(out, y).item(), requires_grad=True)
    loss.backward()
    opt.step()
