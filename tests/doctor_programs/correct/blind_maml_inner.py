# expect: nothing
# MAML: inner updates with create_graph, functional forward, one outer step.

import torch
from torch import nn
from torch.func import functional_call
import functools


def wave(ph, v):
    return torch.sin(v + ph)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
meta = torch.optim.Adam(net.parameters(), 1e-3)
for it in range(10):
    outer = 0.0
    for task in range(3):
        ph = torch.rand(1) * 3
        f = functools.partial(wave, ph)
        xs, xq = torch.rand(10, 1) * 4 - 2, torch.rand(10, 1) * 4 - 2
        w = dict(net.named_parameters())
        li = nn.functional.mse_loss(functional_call(net, w, (xs,)), f(xs))
        gs = torch.autograd.grad(li, list(w.values()), create_graph=True)
        w = {k: p - 0.05 * g for (k, p), g in zip(w.items(), gs)}
        outer = outer + nn.functional.mse_loss(functional_call(net, w, (xq,)), f(xq))
    meta.zero_grad()
    (outer / 3).backward()
    meta.step()
print(outer.item() / 3)
