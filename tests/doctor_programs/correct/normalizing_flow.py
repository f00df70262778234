# expect: nothing
# A coupling flow: log-determinants, negative log-likelihoods below zero are fine.

import math

import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 2))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        scale, shift = self.net(a).chunk(2, dim=1)
        scale = torch.tanh(scale)
        b = b * torch.exp(scale) + shift
        parts = (b, a) if self.flip else (a, b)
        return torch.cat(parts, dim=1), scale.squeeze(1)


torch.manual_seed(411)
layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(4))
optimizer = torch.optim.Adam(layers.parameters(), lr=5e-3)
losses = []
for _ in range(80):
    t = torch.rand(128, 1) * 2 - 1
    x = 0.3 * torch.cat([t, t**2 + 0.05 * torch.randn(128, 1)], dim=1)
    log_det = torch.zeros(128)
    for layer in layers:
        x, s = layer(x)
        log_det = log_det + s
    prior = -0.5 * x.pow(2).sum(dim=1) - math.log(2 * math.pi)
    loss = -(prior + log_det).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("negative log-likelihood", losses[0], losses[-1])
