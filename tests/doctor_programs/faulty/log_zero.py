# expect: nan-origin line 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(10):
    p = torch.relu(net(x))
    p = p / (p.sum(1, keepdim=True) + 1e-9)
    lp = torch.log(p)
    loss = -lp[torch.arange(90), y].mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
