# expect: graph-leak line 22
# The epoch's running total adds the loss tensors themselves and keeps every graph node.

import torch
from torch import nn

torch.manual_seed(72)
x = torch.randn(640, 8)
y = torch.sin(x[:, :1]) + x[:, 1:2] ** 2

model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.MSELoss()

for epoch in range(4):
    running_loss = 0.0
    for i in range(0, 640, 20):
        optimizer.zero_grad()
        loss = criterion(model(x[i : i + 20]), y[i : i + 20])
        loss.backward()
        optimizer.step()
        running_loss += loss
    print(f"epoch {epoch} loss {running_loss / 32:.4f}")
