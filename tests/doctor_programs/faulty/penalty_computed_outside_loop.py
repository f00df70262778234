# expect: backward-twice line 13, 19
# The weight penalty is computed once before the loop and added to every loss.

import torch
from torch import nn

torch.manual_seed(82)
model = nn.Sequential(nn.Linear(9, 20), nn.ReLU(), nn.Linear(20, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(100, 9)
y = x[:, :1].abs() + 0.5 * x[:, 1:2]
lam = 1e-3
l2_penalty = sum(p.pow(2).sum() for p in model.parameters())

for epoch in range(10):
    optimizer.zero_grad()
    mse = nn.functional.mse_loss(model(x), y)
    loss = mse + lam * l2_penalty
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch} mse {mse.item():.4f}")
