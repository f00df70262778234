"""Gradients of all earlier batches are still there when the next one is added: repaired.

The gradients are cleared before each backward.
"""

import clew as torch

nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)

x = torch.randn(256, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.3
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for epoch in range(5):
    for rows in torch.randperm(256).split(32):
        loss = F.mse_loss(model(x[rows]).squeeze(1), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}, loss {loss.item():.4f}")
