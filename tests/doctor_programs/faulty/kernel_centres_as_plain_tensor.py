# expect: missing-requires-grad line 8
# The centres are to be tuned by hand but were never asked for a gradient.

import torch
from torch import nn

torch.manual_seed(904)
centers = torch.linspace(-2, 2, 8)
readout = nn.Linear(8, 1)
optimizer = torch.optim.Adam(readout.parameters(), lr=2e-2)
x = torch.rand(100, 1) * 4 - 2
y = torch.sin(3 * x)
for step in range(20):
    features = torch.exp(-((x - centers) ** 2))
    loss = nn.functional.mse_loss(readout(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        centers -= 0.01 * centers.grad
    print(step, loss.item())
