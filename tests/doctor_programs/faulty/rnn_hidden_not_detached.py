# expect: backward-twice line 14, 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
rnn = nn.RNN(3, 8, batch_first=True)
out = nn.Linear(8, 1)
opt = torch.optim.SGD([*rnn.parameters(), *out.parameters()], lr=0.01)
h = torch.zeros(1, 4, 8)
for i in range(10):
    x = torch.randn(4, 5, 3)
    o, h = rnn(x, h)
    loss = out(o).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
