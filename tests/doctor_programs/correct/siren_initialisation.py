# expect: nothing
# Sine activations with their own initialisation and a frequency factor of 30.

import math

import torch
from torch import nn


class Sine(nn.Module):
    def __init__(self, n_in, n_out, first=False, omega=30.0):
        super().__init__()
        self.omega, self.linear = omega, nn.Linear(n_in, n_out)
        bound = 1 / n_in if first else math.sqrt(6 / n_in) / omega
        nn.init.uniform_(self.linear.weight, -bound, bound)

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))


torch.manual_seed(429)
net = nn.Sequential(Sine(1, 32, first=True), Sine(32, 32), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
x = torch.linspace(-1, 1, 128).unsqueeze(1)
y = torch.sin(9 * x) * torch.cos(4 * x)
losses = []
for _ in range(80):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
