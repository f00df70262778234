# expect: nothing
# The last, incomplete group of micro-batches is divided by its own size.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1018)
x = torch.randn(110, 6)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
batches = list(zip(x.split(10), y.split(10)))
group = 4
history = []
for _ in range(10):
    total = 0.0
    for start in range(0, len(batches), group):
        part = batches[start : start + group]
        for xb, yb in part:
            loss = F.cross_entropy(model(xb), yb) / len(part)
            loss.backward()
            total += loss.item() * len(part)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    history.append(total / len(batches))
print(history[0], history[-1])
