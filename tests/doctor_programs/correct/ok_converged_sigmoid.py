# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(100, 4)
y = (x[:, :1] > 0).float()
net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1), nn.Sigmoid())
opt = torch.optim.Adam(net.parameters(), lr=0.05)
for i in range(300):
    opt.zero_grad()
    loss = F.binary_cross_entropy(net(x), y)
    loss.backward()
    opt.step()
