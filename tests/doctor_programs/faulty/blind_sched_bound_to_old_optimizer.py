# expect: scheduler-misuse line 11, 22
# Phase two makes a new optimizer, the scheduler still drives the first.

import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Sequential(nn.Linear(5, 16), nn.ReLU()), nn.Linear(16, 2)
body.requires_grad_(False)
opt = torch.optim.SGD(head.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
x = torch.randn(60, 5)
y = (x[:, 0] > x[:, 1]).long()
for epoch in range(12):
    if epoch == 4:
        body.requires_grad_(True)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    for i in range(0, 60, 20):
        opt.zero_grad()
        nn.functional.cross_entropy(head(body(x[i : i + 20])), y[i : i + 20]).backward()
        opt.step()
    sched.step()
