# expect: nothing
# Cox partial likelihood: logcumsumexp over the batch is the loss.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(6, 1)
opt = torch.optim.Adam(net.parameters(), 1e-2)
x = torch.randn(80, 6)
t = torch.exp(-x[:, 0] + 0.1 * torch.randn(80))
e = torch.rand(80) < 0.7
o = t.argsort(descending=True)
x, e = x[o], e[o]
for _ in range(30):
    h = net(x).squeeze(1)
    l = -((h - torch.logcumsumexp(h, 0))[e]).mean()
    opt.zero_grad()
    l.backward()
    opt.step()
