"""Backward of a loss that was never reduced to one number: repaired.

The weighted losses are averaged.
"""

import clew as torch

nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)

x = torch.randn(256, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5])
importance = torch.rand(256)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(5):
    for rows in torch.randperm(256).split(32):
        optimizer.zero_grad()
        each = F.mse_loss(model(x[rows]).squeeze(1), y[rows], reduction="none")
        loss = (importance[rows] * each).mean()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}, loss {loss.mean().item():.4f}")
