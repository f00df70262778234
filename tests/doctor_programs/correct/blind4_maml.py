# expect: nothing

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
meta = torch.optim.Adam(net.parameters(), lr=3e-3)


def task():
    a, p = torch.rand(1) * 2 + 0.5, torch.rand(1) * 3

    def sample(n):
        x = torch.rand(n, 1) * 6 - 3
        return x, a * torch.sin(x + p)

    return sample


for it in range(40):
    meta.zero_grad()
    total = 0.0
    for _ in range(4):
        s = task()
        xs, ys = s(10)
        xq, yq = s(10)
        params = dict(net.named_parameters())
        ls = nn.functional.mse_loss(functional_call(net, params, (xs,)), ys)
        g = torch.autograd.grad(ls, list(params.values()), create_graph=True)
        fast = {k: v - 0.05 * gi for (k, v), gi in zip(params.items(), g)}
        lq = nn.functional.mse_loss(functional_call(net, fast, (xq,)), yq) / 4
        lq.backward()
        total += lq.item()
    meta.step()
    if it % 10 == 0:
        print(it, total)
