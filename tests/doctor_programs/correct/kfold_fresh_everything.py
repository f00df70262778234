# expect: nothing
# Each fold builds its own model, optimizer and scheduler.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(269)
x = torch.randn(90, 6)
y = (x[:, 0] > x[:, 1]).long()
index = torch.randperm(90)
before, after = [], []
for fold in range(3):
    test = index[fold * 30 : (fold + 1) * 30]
    train = torch.cat([index[: fold * 30], index[(fold + 1) * 30 :]])
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=15, gamma=0.5)
    with torch.no_grad():
        before.append(F.cross_entropy(model(x[test]), y[test]).item())
    for _ in range(30):
        loss = F.cross_entropy(model(x[train]), y[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    with torch.no_grad():
        after.append(F.cross_entropy(model(x[test]), y[test]).item())
print("test loss", sum(before) / 3, sum(after) / 3)
