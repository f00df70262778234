# expect: retain-graph-misuse line 18
# Each iteration builds and uses its graph once, retain_graph=True only holds memory.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(77)
model = nn.Sequential(nn.Linear(7, 30), nn.ReLU(), nn.Linear(30, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x = torch.randn(90, 7)
y = x[:, 2:5].argmin(dim=1)

for epoch in range(10):
    for xb, yb in zip(x.split(30), y.split(30)):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward(retain_graph=True)
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
