# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

opt = torch.optim.SGD(net.parameters(), lr=1e-4)
for i in range(40):
    opt.zero_grad()
    loss = F.mse_loss(net(x), y, reduction="sum")
    loss.backward()
    opt.step()
