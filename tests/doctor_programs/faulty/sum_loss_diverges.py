# expect: wrong-reduction line 13, 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

opt = torch.optim.SGD(net.parameters(), lr=0.1)
crit = nn.MSELoss(reduction="sum")
for i in range(20):
    opt.zero_grad()
    loss = crit(net(x), y)
    loss.backward()
    opt.step()
