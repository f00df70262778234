# expect: nothing
# Samples are drawn by Langevin steps on the input; model gradients are cleared before its update.

import torch
from torch import nn

torch.manual_seed(716)
energy = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(energy.parameters(), lr=3e-3)


def langevin(n, steps=10, size=0.1):
    x = torch.randn(n, 2)
    for _ in range(steps):
        x.requires_grad_(True)
        (grad,) = torch.autograd.grad(energy(x).sum(), x)
        x = (x - size * grad + 0.05 * torch.randn_like(x)).detach()
    return x


center = torch.tensor([1.0, 1.0])


def gap():
    return (langevin(200, 20).mean(0) - center).norm().item()


first = gap()
for _ in range(60):
    real = center + 0.3 * torch.randn(48, 2)
    fake = langevin(48)
    e_real, e_fake = energy(real), energy(fake)
    loss = e_real.mean() - e_fake.mean() + 0.1 * (e_real.pow(2) + e_fake.pow(2)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(first, gap())
