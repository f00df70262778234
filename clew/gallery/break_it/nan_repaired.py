"""A square root at zero: one infinite derivative, and NaN in all weights: repaired.

A small number under the root bounds the derivative.
"""

import clew as torch

nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)

points = torch.randn(128, 2)
others = points.clone()
others[:64] += torch.randn(64, 2)
distances = (points - others).norm(dim=1)
model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for step in range(20):
    optimizer.zero_grad()
    squares = (model(points) - model(others)).pow(2).sum(dim=1)
    distance = torch.sqrt(squares + 1e-6)
    loss = F.mse_loss(distance, distances)
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(f"step {step}, loss {loss.item():.4f}")
