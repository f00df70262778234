# expect: detached-graph line 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]

backbone = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
head = nn.Linear(16, 1)
opt = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=0.01)
for i in range(20):
    opt.zero_grad()
    with torch.no_grad():
        h = backbone(x)
    F.mse_loss(head(h), y).backward()
    opt.step()
