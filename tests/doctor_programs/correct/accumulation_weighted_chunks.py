# expect: nothing
# Chunks of unequal size are summed and each is divided by the whole batch's size.

import torch
from torch import nn


def train_on(model, optimizer, x, y, chunk):
    optimizer.zero_grad(set_to_none=True)
    total = 0.0
    for xc, yc in zip(x.split(chunk), y.split(chunk)):
        loss = nn.functional.mse_loss(model(xc), yc, reduction="sum") / len(x)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


torch.manual_seed(201)
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(100, 6)
y = x[:, :1] * x[:, 1:2]
losses = [train_on(model, optimizer, x, y, chunk=30) for _ in range(30)]
print("loss", losses[0], "->", losses[-1])
