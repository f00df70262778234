# expect: nothing
# A mean error plus lambda times a sum of absolute weights: the usual L1 penalty.

import torch
from torch import nn

torch.manual_seed(1008)
x = torch.randn(120, 20)
y = x[:, :1] - 2 * x[:, 1:2] + 0.1 * torch.randn(120, 1)
model = nn.Sequential(nn.Linear(20, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
l1, l2 = 1e-3, 1e-4
losses = []
for _ in range(60):
    error = nn.functional.mse_loss(model(x), y)
    weights = [p for name, p in model.named_parameters() if "weight" in name]
    penalty = l1 * sum(w.abs().sum() for w in weights) + l2 * sum(w.pow(2).sum() for w in weights)
    optimizer.zero_grad()
    (error + penalty).backward()
    optimizer.step()
    losses.append(error.item())
print(losses[0], losses[-1])
