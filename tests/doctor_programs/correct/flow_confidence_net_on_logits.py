# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
conf = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(list(net.parameters()) + list(conf.parameters()), lr=1e-3)
for i in range(40):
    x = torch.randn(32, 10)
    y = x[:, :1].sin()
    pred = net(x)
    err = (pred - y) ** 2
    loss = err.mean() + (conf(pred.detach()) - err.detach()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
