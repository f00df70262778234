# expect: nothing
# ExponentialLR stepped per iteration with a gamma that is meant per iteration.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(512)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.99)
x = torch.randn(150, 5)
y = x[:, :3].argmax(1)
losses = []
for _ in range(20):
    for xb, yb in zip(x.split(30), y.split(30)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
print("rate", optimizer.param_groups[0]["lr"])
print(losses[0], losses[-1])
