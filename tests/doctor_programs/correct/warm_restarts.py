# expect: nothing
# Cosine annealing with warm restarts: the rate is meant to go up again.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(416)
x = torch.randn(120, 5)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=5, T_mult=2)
batches = list(zip(x.split(40), y.split(40)))
losses = []
for epoch in range(15):
    for i, (xb, yb) in enumerate(batches):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step(epoch + i / len(batches))
        losses.append(loss.item())
print(losses[0], losses[-1])
