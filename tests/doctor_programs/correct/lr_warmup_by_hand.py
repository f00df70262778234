# expect: nothing
# The rate is set by hand in param_groups: linear warm-up, then inverse square root.

import torch
import torch.nn.functional as F
from torch import nn


def set_rate(optimizer, step, base=2e-2, warmup=10):
    rate = base * min((step + 1) / warmup, (warmup / (step + 1)) ** 0.5)
    for group in optimizer.param_groups:
        group["lr"] = rate
    return rate


torch.manual_seed(711)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.0)
x = torch.randn(150, 6)
y = x[:, :3].argmax(1)
losses = []
for step in range(60):
    set_rate(optimizer, step)
    pick = torch.randint(0, 150, (50,))
    loss = F.cross_entropy(model(x[pick]), y[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
