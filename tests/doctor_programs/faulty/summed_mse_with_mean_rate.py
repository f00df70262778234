# expect: wrong-reduction or bad-learning-rate line 11, 17
# MSELoss(reduction="sum") over 256 rows with a rate that was meant for the mean.

import torch
from torch import nn

torch.manual_seed(126)
x = torch.randn(512, 6)
y = x @ torch.randn(6, 2) + 0.1 * torch.randn(512, 2)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
criterion = nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for epoch in range(4):
    for xb, yb in zip(x.split(256), y.split(256)):
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss per row {loss.item() / 256:.4e}")
