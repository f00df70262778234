# expect: nothing

import torch
import torch.nn.functional as F

torch.manual_seed(0)
params = [
    (torch.randn(1, 20) * 0.5).requires_grad_(),
    torch.zeros(20, requires_grad=True),
    (torch.randn(20, 1) * 0.2).requires_grad_(),
    torch.zeros(1, requires_grad=True),
]
opt = torch.optim.Adam(params, lr=1e-3)


def f(x, p):
    return torch.tanh(x @ p[0] + p[1]) @ p[2] + p[3]


for it in range(15):
    meta = 0
    for task in range(4):
        a, ph = torch.rand(1) * 3 + 0.5, torch.rand(1) * 3
        xs, xq = torch.rand(10, 1) * 6 - 3, torch.rand(10, 1) * 6 - 3
        inner = F.mse_loss(f(xs, params), a * torch.sin(xs + ph))
        g = torch.autograd.grad(inner, params, create_graph=True)
        fast = [p - 0.01 * gi for p, gi in zip(params, g)]
        meta = meta + F.mse_loss(f(xq, fast), a * torch.sin(xq + ph))
    meta = meta / 4
    opt.zero_grad()
    meta.backward()
    opt.step()
print(meta.item())
