# expect: vanishing-gradient line 13, 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(16, 10, 64) * 6
q = nn.Linear(64, 64)
k = nn.Linear(64, 64)
v = nn.Linear(64, 64)
nn.init.normal_(q.weight, std=1.0)
nn.init.normal_(k.weight, std=1.0)
params = [*q.parameters(), *k.parameters(), *v.parameters()]
opt = torch.optim.SGD(params, lr=1e-3)
for i in range(15):
    a = torch.softmax(q(x) @ k(x).transpose(1, 2), dim=-1)
    loss = (a @ v(x) - x.roll(1, 1)).pow(2).mean() / 36
    opt.zero_grad()
    loss.backward()
    opt.step()
