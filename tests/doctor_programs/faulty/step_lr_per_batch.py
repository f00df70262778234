# expect: scheduler-misuse line 14, 24
# StepLR(step_size=10) counts epochs but is stepped for every batch.

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(117)
x = torch.randn(320, 7)
y = x[:, :3].argmax(dim=1)
model = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = StepLR(optimizer, step_size=10, gamma=0.1)
EPOCHS = 12

for epoch in range(EPOCHS):
    epoch_loss = 0.0
    for xb, yb in zip(x.split(32), y.split(32)):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
        epoch_loss += loss.item()
    print(f"epoch {epoch:2d} loss {epoch_loss / 10:.4f} lr {scheduler.get_last_lr()[0]:.1e}")
