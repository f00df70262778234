# expect: nothing
# PCGrad: gradients of two tasks are taken, projected and written to .grad by hand.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
ps = list(net.parameters())
opt = torch.optim.SGD(ps, 0.05)
x = torch.randn(32, 5)
y = torch.stack([x.sum(1), -x[:, 0]], 1)
for _ in range(20):
    o = net(x)
    gs = [
        torch.autograd.grad(((o[:, k] - y[:, k]) ** 2).mean(), ps, retain_graph=k == 0)
        for k in range(2)
    ]
    f = [torch.cat([t.flatten() for t in g]) for g in gs]
    d = f[0] @ f[1]
    if d < 0:
        f = [f[0] - d / f[1].dot(f[1]) * f[1], f[1] - d / f[0].dot(f[0]) * f[0]]
    tot, i = f[0] + f[1], 0
    for p in ps:
        p.grad = tot[i : i + p.numel()].view_as(p).clone()
        i += p.numel()
    opt.step()
print(((net(x) - y) ** 2).mean().item())
