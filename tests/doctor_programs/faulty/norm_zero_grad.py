# expect: nan-origin line 15

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]

w = nn.Linear(8, 4)
opt = torch.optim.SGD(w.parameters(), lr=0.01)
for i in range(10):
    z = w(x)
    d = (z - z.detach()).pow(2).sum(1).sqrt()
    loss = d.mean() + z.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
