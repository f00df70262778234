# expect: nan-origin line 18
# One feature is constant, standardising divides zero by zero before training starts.

import torch
from torch import nn


def load():
    generator = torch.Generator().manual_seed(325)
    table = torch.randn(120, 5, generator=generator)
    table[:, 3] = 1.0
    target = table[:, :1] - 2 * table[:, 1:2]
    return table, target


def standardise(table):
    mean, std = table.mean(dim=0), table.std(dim=0)
    return (table - mean) / std


torch.manual_seed(325)
table, target = load()
x = standardise(table)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    loss = nn.functional.mse_loss(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("epoch", epoch, "loss", loss.item())
