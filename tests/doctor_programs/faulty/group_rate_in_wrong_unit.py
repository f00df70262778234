# expect: bad-learning-rate line 11, 14
# The head's group got lr=30, a typing error for 3e-3: its weights are thrown around.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(331)
body = nn.Sequential(nn.Linear(7, 32), nn.ReLU())
head = nn.Linear(32, 3)
optimizer = torch.optim.SGD(
    [
        {"params": body.parameters(), "lr": 1e-2},
        {"params": head.parameters(), "lr": 30.0},
    ],
    lr=1e-2,
    momentum=0.9,
)
x = torch.randn(120, 7)
y = x[:, :3] - x[:, 3:6]
for epoch in range(6):
    for xb, yb in zip(x.split(30), y.split(30)):
        loss = F.smooth_l1_loss(head(body(xb)), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
