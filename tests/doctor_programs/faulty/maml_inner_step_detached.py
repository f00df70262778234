# expect: detached-graph line 21
# The inner update of MAML reads .data, so the outer loss never reaches the initial weights.

import torch
import torch.nn.functional as F

torch.manual_seed(0)
w = (torch.randn(1, 16) * 0.5).requires_grad_()
b = torch.zeros(16, requires_grad=True)
v = (torch.randn(16, 1) * 0.3).requires_grad_()
meta = torch.optim.Adam([w, b, v], lr=1e-2)


def net(x, p):
    return torch.tanh(x @ p[0] + p[1]) @ p[2]


def adapt(x, y, lr=0.05):
    loss = F.mse_loss(net(x, (w, b, v)), y)
    grads = torch.autograd.grad(loss, (w, b, v), create_graph=True)
    return [(p - lr * g).data.requires_grad_() for p, g in zip((w, b, v), grads)]


for it in range(20):
    meta.zero_grad()
    outer = 0.0
    for task in range(3):
        phase = torch.rand(1) * 3
        x = torch.rand(10, 1) * 4
        xq = torch.rand(10, 1) * 4
        fast = adapt(x, torch.sin(x + phase))
        outer = outer + F.mse_loss(net(xq, fast), torch.sin(xq + phase)) / 3
    outer.backward()
    meta.step()
print(outer.item())
