# expect: nothing
# Second-order MAML with functional weights.

import torch
import torch.nn.functional as F

torch.manual_seed(0)
params = [
    (torch.randn(1, 20) * 0.5).requires_grad_(),
    torch.zeros(20, requires_grad=True),
    (torch.randn(20, 1) * 0.2).requires_grad_(),
    torch.zeros(1, requires_grad=True),
]
opt = torch.optim.Adam(params, lr=3e-3)


def f(x, p):
    return F.relu(x @ p[0] + p[1]) @ p[2] + p[3]


for it in range(15):
    opt.zero_grad()
    for task in range(4):
        a, ph = torch.rand(1) * 4 + 1, torch.rand(1) * 3
        xs, xq = torch.rand(10, 1) * 10 - 5, torch.rand(10, 1) * 10 - 5
        fast = params
        for _ in range(2):
            g = torch.autograd.grad(
                F.mse_loss(f(xs, fast), a * torch.sin(xs + ph)), fast, create_graph=True
            )
            fast = [p - 0.01 * gi for p, gi in zip(fast, g)]
        loss = F.mse_loss(f(xq, fast), a * torch.sin(xq + ph)) / 4
        loss.backward()
    opt.step()
print(loss.item())
