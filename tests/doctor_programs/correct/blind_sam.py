# expect: nothing
# Sharpness-aware minimisation: two backwards to an update, gradients cleared in between.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(48, 4), torch.randint(0, 2, (48,))
for _ in range(20):
    nn.functional.cross_entropy(net(x), y).backward()
    with torch.no_grad():
        n = torch.stack([p.grad.norm() for p in net.parameters()]).norm() + 1e-12
        eps = [p.grad * 0.05 / n for p in net.parameters()]
        for p, e in zip(net.parameters(), eps):
            p.add_(e)
    opt.zero_grad()
    l = nn.functional.cross_entropy(net(x), y)
    l.backward()
    with torch.no_grad():
        for p, e in zip(net.parameters(), eps):
            p.sub_(e)
    opt.step()
    opt.zero_grad()
print(l.item())
