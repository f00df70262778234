# expect: nothing
# Sampling with gradients and no optimizer at all.

import torch

torch.manual_seed(0)
x = torch.randn(64, 2) * 3


def energy(x):
    return ((x**2).sum(1) - 4).pow(2).sum() / 8


for step in range(60):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(energy(x), x)
    x = x - 0.01 * g + (2 * 0.01) ** 0.5 * 0.1 * torch.randn_like(x)
print(x.norm(dim=1).mean().item())
