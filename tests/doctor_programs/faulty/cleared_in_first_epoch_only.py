# expect: missing-zero-grad line 18, 19
# zero_grad() is inside `if epoch == 0`, from the second epoch on gradients pile up.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(600)
x = torch.randn(120, 6)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(6):
    for xb, yb in zip(x.split(30), y.split(30)):
        if epoch == 0:
            optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
