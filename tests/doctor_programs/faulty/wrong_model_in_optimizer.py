# expect: param-not-in-optimizer line 12, 13

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]

a = nn.Linear(8, 1)
b = nn.Linear(8, 1)
opt = torch.optim.SGD(a.parameters(), lr=0.1)
for i in range(10):
    opt.zero_grad()
    F.mse_loss(b(x), y).backward()
    opt.step()
