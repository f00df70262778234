# expect: detached-graph line 14, 15
# Task losses are collected as numbers, and a new tensor is made of them.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
body, a, b = nn.Linear(6, 12), nn.Linear(12, 1), nn.Linear(12, 3)
opt = torch.optim.Adam([*body.parameters(), *a.parameters(), *b.parameters()], lr=1e-3)
for i in range(20):
    x = torch.randn(16, 6)
    h = torch.relu(body(x))
    parts = [F.mse_loss(a(h), x[:, :1]).item(), F.cross_entropy(b(h), x[:, :3].argmax(1)).item()]
    total = torch.tensor(parts, requires_grad=True).sum()
    opt.zero_grad()
    total.backward()
    opt.step()
print(total.item())
