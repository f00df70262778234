# expect: nothing
# NaN marks missing values in the data and is replaced before anything is computed.

import torch
from torch import nn

torch.manual_seed(516)
table = torch.randn(120, 5)
target = table.sum(dim=1, keepdim=True)
table[torch.rand(120, 5) < 0.1] = float("nan")
missing = torch.isnan(table)
x = torch.cat([torch.nan_to_num(table, nan=0.0), missing.float()], dim=1)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
best = torch.tensor(float("inf"))
losses = []
for _ in range(50):
    loss = nn.functional.mse_loss(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    best = torch.minimum(best, loss.detach())
    losses.append(loss.item())
print("best", best.item())
print(losses[0], losses[-1])
