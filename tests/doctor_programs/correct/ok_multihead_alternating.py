# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
trunk = nn.Linear(8, 16)
heads = nn.ModuleList([nn.Linear(16, 1) for _ in range(3)])
opt = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=0.01)
for i in range(30):
    x = torch.randn(16, 8)
    task = i % 3
    loss = F.mse_loss(heads[task](torch.relu(trunk(x))), x[:, task : task + 1])
    opt.zero_grad()
    loss.backward()
    opt.step()
