# expect: nan-origin line 12
# torch.where hides the NaN of sqrt for negative values forward, backward brings it back.

import torch
from torch import nn


class SoftRoot(nn.Module):
    """sqrt(x) for positive x, a gentle line below."""

    def forward(self, x):
        root = torch.sqrt(x)
        return torch.where(x > 0, root, 0.1 * x)


torch.manual_seed(92)
x = torch.rand(100, 3) * 10
y = torch.log1p(x).sum(dim=1, keepdim=True)
model = nn.Sequential(nn.Linear(3, 16), SoftRoot(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(8):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
