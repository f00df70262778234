# expect: nothing
# The update of the last batch is applied at the top of the next iteration, before its forward.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1002)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(100, 5)
y = (x[:, 0] > x[:, 1]).long()
losses, pending = [], False
for _ in range(10):
    for xb, yb in zip(x.split(25), y.split(25)):
        if pending:
            optimizer.step()
            optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        pending = True
        losses.append(loss.item())
optimizer.step()
print(losses[0], losses[-1])
