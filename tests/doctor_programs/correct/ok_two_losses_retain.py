# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]

trunk = nn.Linear(8, 16)
a = nn.Linear(16, 1)
b = nn.Linear(16, 1)
opt = torch.optim.Adam([*trunk.parameters(), *a.parameters(), *b.parameters()], lr=0.01)
for i in range(20):
    h = torch.relu(trunk(x))
    opt.zero_grad()
    F.mse_loss(a(h), y).backward(retain_graph=True)
    F.mse_loss(b(h), -y).backward()
    opt.step()
