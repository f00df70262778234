# expect: scheduler-misuse line 13, 23
# ExponentialLR(gamma=0.5) is meant per epoch and stepped per batch.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(614)
x = torch.randn(300, 6)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)


def run_epoch():
    total = 0.0
    for xb, yb in zip(x.split(20), y.split(20)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
    return total / 15


for epoch in range(5):
    print(epoch, run_epoch(), optimizer.param_groups[0]["lr"])
