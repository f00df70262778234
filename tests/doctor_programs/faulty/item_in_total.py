# expect: detached-graph line 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]

a = nn.Linear(8, 1)
b = nn.Linear(8, 1)
opt = torch.optim.Adam([*a.parameters(), *b.parameters()], lr=0.01)
for i in range(20):
    la = F.mse_loss(a(x), y)
    lb = F.mse_loss(b(x), -y)
    total = la + 0.5 * lb.item()
    opt.zero_grad()
    total.backward()
    opt.step()
