# expect: detached-graph line 13
# The imported encoder detaches what it returns and never learns.
# in: shared_blocks.py

import torch
from shared_blocks import FrozenLookingEncoder
from torch import nn

torch.manual_seed(800)
x = torch.randn(90, 6)
y = (x[:, :2] ** 2).argmax(1)
model = nn.Sequential(FrozenLookingEncoder(6, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    for xb, yb in zip(x.split(30), y.split(30)):
        loss = nn.functional.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
