# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
rnn = nn.GRU(3, 8, batch_first=True)
out = nn.Linear(8, 1)
opt = torch.optim.Adam([*rnn.parameters(), *out.parameters()], lr=0.01)
h = None
for i in range(30):
    x = torch.randn(4, 5, 3)
    o, h = rnn(x, h)
    h = h.detach()
    loss = (out(o) - x.sum(2, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
