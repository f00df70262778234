# expect: backward-twice line 11, 16

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(5):
    x = torch.randn(8, 4)
    f = torch.tanh(net(x))
    a = f.pow(2).mean()
    b = f.abs().mean()
    opt.zero_grad()
    a.backward()
    b.backward()
    opt.step()
