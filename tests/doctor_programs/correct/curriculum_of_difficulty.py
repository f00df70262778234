# expect: nothing
# Harder data arrive later: the loss jumps up when the curriculum moves on.

import torch
from torch import nn

torch.manual_seed(1017)
model = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def batch(frequency):
    x = torch.rand(64, 3) * 2 - 1
    return x, torch.sin(frequency * x[:, :1]) * x[:, 1:2]


first = last = None
for level in (1.0, 2.0, 4.0):
    for step in range(50):
        x, y = batch(level)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 0:
            first = loss.item()
    last = loss.item()
    print("level", level, first, last)
