# expect: nothing
# Gradient accumulation with the loss divided by the number of micro-batches.

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(200)
ACCUMULATE = 4
x = torch.randn(160, 9)
y = x[:, :3].argmax(dim=1)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.5)

history = []
for _ in range(5):
    total = 0.0
    optimizer.zero_grad()
    for i, (xb, yb) in enumerate(loader):
        loss = F.cross_entropy(model(xb), yb)
        (loss / ACCUMULATE).backward()
        total += loss.item()
        if (i + 1) % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
    history.append(total / len(loader))
print("first epoch", history[0], "last epoch", history[-1])
