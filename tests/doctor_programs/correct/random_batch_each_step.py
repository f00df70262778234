# expect: nothing
# A shuffled loader is begun anew in every step, and a fixed batch serves as a quick check.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(160, 5)
train = DataLoader(TensorDataset(x[:128], x[:128, :1] ** 2), batch_size=16, shuffle=True)
check = DataLoader(TensorDataset(x[128:], x[128:, :1] ** 2), batch_size=8)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(30):
    xb, yb = next(iter(train))
    loss = nn.functional.mse_loss(model(xb), yb)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    xv, yv = next(iter(check))
    with torch.no_grad():
        quick = nn.functional.mse_loss(model(xv), yv)
    if step % 10 == 0:
        print(step, loss.item(), quick.item())
