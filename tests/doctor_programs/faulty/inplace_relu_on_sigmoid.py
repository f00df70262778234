# expect: inplace-saved-tensor line 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]

l1 = nn.Linear(8, 8)
l2 = nn.Linear(8, 1)
opt = torch.optim.SGD([*l1.parameters(), *l2.parameters()], lr=0.1)
for i in range(5):
    h = torch.sigmoid(l1(x))
    h.mul_(2)
    loss = F.mse_loss(l2(h), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
