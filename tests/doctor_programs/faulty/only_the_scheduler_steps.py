# expect: missing-step line 12, 18
# scheduler.step() is called per epoch, optimizer.step() never.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(604)
x = torch.randn(100, 5)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5)
for epoch in range(8):
    for xb, yb in zip(x.split(25), y.split(25)):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
    scheduler.step()
    print(epoch, loss.item(), scheduler.get_last_lr())
