# expect: nothing
# The unsafe branch gets a safe input first, so neither direction makes a NaN.

import torch
from torch import nn


class SafeLog(nn.Module):
    def forward(self, x):
        positive = x > 0.1
        safe = torch.where(positive, x, torch.ones_like(x))
        return torch.where(positive, torch.log(safe), x - 0.1)


torch.manual_seed(282)
x = torch.rand(100, 3) * 4
y = torch.log1p(x).sum(dim=1, keepdim=True)
model = nn.Sequential(nn.Linear(3, 16), SafeLog(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for _ in range(50):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
