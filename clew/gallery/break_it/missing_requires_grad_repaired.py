"""A weight that was never asked to record its gradient: repaired.

Every tensor that learns requires a gradient.
"""

import clew as torch

nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)

x = torch.randn(256, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5]) + 5.0
weight = torch.zeros(3, requires_grad=True)
bias = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([weight, bias], lr=0.1)

for epoch in range(5):
    for rows in torch.randperm(256).split(32):
        optimizer.zero_grad()
        loss = F.mse_loss(x[rows] @ weight + bias, y[rows])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}, loss {loss.item():.4f}")
