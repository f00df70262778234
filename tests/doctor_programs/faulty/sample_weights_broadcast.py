# expect: loss-broadcast line 17
# Per-sample weights (N,) times per-sample losses (N, 1) average over all pairs.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(616)
x = torch.randn(120, 5)
y = x[:, :1] * 2 - x[:, 1:2]
importance = torch.rand(120) * 2
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(8):
    for xb, yb, wb in zip(x.split(30), y.split(30), importance.split(30)):
        errors = F.mse_loss(model(xb), yb, reduction="none")
        loss = (wb * errors).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
