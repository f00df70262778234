# expect: nothing
# A kernel two-sample loss over all pairs of generated and real points.

import torch
from torch import nn


def kernel(a, b, width=1.0):
    return torch.exp(-(a.unsqueeze(1) - b.unsqueeze(0)).pow(2).sum(-1) / (2 * width**2))


torch.manual_seed(510)
generator = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(generator.parameters(), lr=1e-2)
losses = []
for _ in range(60):
    real = torch.randn(48, 2) * 0.5 + 1.0
    fake = generator(torch.randn(48, 2))
    loss = kernel(fake, fake).mean() - 2 * kernel(fake, real).mean() + kernel(real, real).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
