# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
q = nn.Linear(8, 8)
k = nn.Linear(8, 8)
v = nn.Linear(8, 8)
params = [*q.parameters(), *k.parameters(), *v.parameters()]
opt = torch.optim.Adam(params, lr=0.01)
mask = torch.triu(torch.ones(6, 6), 1).bool()
for i in range(20):
    x = torch.randn(4, 6, 8)
    s = q(x) @ k(x).transpose(1, 2) / 8**0.5
    a = s.masked_fill(mask, float("-inf")).softmax(-1)
    loss = (a @ v(x) - x.flip(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
