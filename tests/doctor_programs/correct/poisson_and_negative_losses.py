# expect: nothing
# Poisson and Gaussian likelihoods: losses below zero are normal.

import torch
from torch import nn

torch.manual_seed(529)
x = torch.rand(200, 3)
rate = torch.exp(0.5 + x[:, :1])
counts = torch.poisson(rate)
model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
poisson = nn.PoissonNLLLoss(log_input=True)
gaussian = nn.GaussianNLLLoss()
losses = []
for _ in range(60):
    out = model(x)
    variance = torch.nn.functional.softplus(out[:, 1:]) + 1e-4
    loss = poisson(out[:, :1], counts) + gaussian(0.01 * out[:, :1], 0.01 * rate, variance)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
