# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
cls, reg = nn.Linear(32, 2), nn.Linear(32, 1)
opt = torch.optim.Adam([*trunk.parameters(), *cls.parameters(), *reg.parameters()], lr=2e-3)
for i in range(30):
    x = torch.randn(32, 6)
    h = trunk(x)
    l1 = F.cross_entropy(cls(h), (x[:, 0] > 0).long())
    l2 = F.mse_loss(reg(h).squeeze(1), x[:, 1])
    opt.zero_grad()
    l1.backward(retain_graph=True)
    l2.backward()
    opt.step()
print(l1.item(), l2.item())
