# expect: nothing
# Each task's loss is divided by its own detached value, a common balancing trick.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(520)
trunk, a, b = nn.Sequential(nn.Linear(5, 24), nn.ReLU()), nn.Linear(24, 1), nn.Linear(24, 1)
optimizer = torch.optim.Adam([*trunk.parameters(), *a.parameters(), *b.parameters()], lr=5e-3)
x = torch.randn(100, 5)
ya, yb = 100.0 * x[:, :1], 0.1 * x[:, 1:2]
history = []
for _ in range(60):
    h = trunk(x)
    losses = [F.mse_loss(a(h), ya / 100), F.mse_loss(b(h), yb * 10)]
    loss = sum(value / value.detach().clamp(min=1e-8) for value in losses)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(sum(value.item() for value in losses))
print(history[0], history[-1])
