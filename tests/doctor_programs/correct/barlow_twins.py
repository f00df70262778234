# expect: nothing
# Barlow Twins: the cross-correlation runs over the batch, both branches learn.

import torch
from torch import nn

torch.manual_seed(501)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)


def standardise(z):
    return (z - z.mean(dim=0)) / (z.std(dim=0) + 1e-4)


losses = []
for _ in range(50):
    x = torch.randn(64, 10)
    za = standardise(net(x + 0.1 * torch.randn_like(x)))
    zb = standardise(net(x + 0.1 * torch.randn_like(x)))
    c = za.t() @ zb / 64
    on_diagonal = (c.diagonal() - 1).pow(2).sum()
    off_diagonal = c.pow(2).sum() - c.diagonal().pow(2).sum()
    loss = on_diagonal + 0.05 * off_diagonal
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
