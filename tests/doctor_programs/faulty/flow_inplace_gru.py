# expect: inplace-saved-tensor line 13

import torch
from torch import nn

torch.manual_seed(0)
w = nn.Linear(4, 4)
opt = torch.optim.SGD(w.parameters(), lr=0.1)
for i in range(5):
    x = torch.randn(8, 4)
    h = torch.tanh(w(x))
    y = h * h
    h += 1.0
    loss = (y + h).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
