# expect: nothing
# Warm-up then cosine in a SequentialLR, stepped once per epoch.

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

torch.manual_seed(514)
x = torch.randn(120, 6)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = SequentialLR(
    optimizer,
    [LinearLR(optimizer, 0.1, total_iters=3), CosineAnnealingLR(optimizer, T_max=9)],
    milestones=[3],
)
losses = []
for _ in range(12):
    for xb, yb in zip(x.split(24), y.split(24)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
print(losses[0], losses[-1])
