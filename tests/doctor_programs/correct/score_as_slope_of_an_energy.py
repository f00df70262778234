# expect: nothing
# Denoising score matching by the slope of an energy, in which its last bias has no part.

import torch
from torch import nn

torch.manual_seed(14)
energy = nn.Sequential(nn.Linear(2, 24), nn.Softplus(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(energy.parameters(), lr=1e-2)
for step in range(30):
    clean = torch.randn(64, 2) * torch.tensor([1.0, 0.3])
    noise = 0.3 * torch.randn(64, 2)
    noisy = (clean + noise).requires_grad_()
    (slope,) = torch.autograd.grad(energy(noisy).sum(), noisy, create_graph=True)
    loss = (0.3 * slope - noise / 0.3).square().sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step, loss.item())
