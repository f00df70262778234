# expect: missing-requires-grad line 11

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]

w = torch.randn(8, 1)
b = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([w, b], lr=0.1)
for i in range(10):
    opt.zero_grad()
    ((x @ w + b - y) ** 2).mean().backward()
    opt.step()
