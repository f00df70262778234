# expect: nothing
# Evolution strategies: the gradient estimate is written to .grad, no backward at all.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), 5e-2)
x = torch.randn(50, 4)
y = x.sum(1, keepdim=True)


def fitness():
    return -nn.functional.mse_loss(net(x), y).item()


with torch.no_grad():
    for gen in range(20):
        opt.zero_grad()
        ps = list(net.parameters())
        g = [torch.zeros_like(p) for p in ps]
        for _ in range(8):
            eps = [torch.randn_like(p) * 0.1 for p in ps]
            for s in (1, -1):
                for p, e in zip(ps, eps):
                    p.add_(s * e)
                f = fitness()
                for p, e in zip(ps, eps):
                    p.sub_(s * e)
                for gi, e in zip(g, eps):
                    gi.sub_(s * f * e / 0.16)
        for p, gi in zip(ps, g):
            p.grad = gi
        opt.step()
print(fitness())
