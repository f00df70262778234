# expect: nothing
# Stochastic weight averaging with a cosine schedule per epoch.

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = torch.sin(x).sum(1, keepdim=True)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=12)
avg, n = None, 0
for ep in range(12):
    for i in range(0, 64, 16):
        opt.zero_grad()
        nn.functional.mse_loss(net(x[i : i + 16]), y[i : i + 16]).backward()
        opt.step()
    sched.step()
    if ep >= 6:
        cur = [p.detach().clone() for p in net.parameters()]
        avg = cur if avg is None else [a + (c - a) / (n + 1) for a, c in zip(avg, cur)]
        n += 1
with torch.no_grad():
    for p, a in zip(net.parameters(), avg):
        p.copy_(a)
    print(nn.functional.mse_loss(net(x), y).item())
