# expect: nothing
# Cyclic restarts with copies of the model kept for an ensemble.

import copy

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.2)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=15)
members = []
for i in range(45):
    x = torch.randn(32, 5)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > x[:, 1]).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if (i + 1) % 15 == 0:
        members.append(copy.deepcopy(net).eval())
with torch.no_grad():
    x = torch.randn(64, 5)
    p = torch.stack([m(x).softmax(1) for m in members]).mean(0)
    print((p.argmax(1) == (x[:, 0] > x[:, 1]).long()).float().mean().item())
