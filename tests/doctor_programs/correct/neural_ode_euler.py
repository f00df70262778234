# expect: nothing
# One small network applied for many Euler steps.

import torch
from torch import nn

torch.manual_seed(255)
field = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
rotation = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])


def solve(f, y, steps=12, dt=0.1):
    path = []
    for _ in range(steps):
        y = y + dt * f(y)
        path.append(y)
    return torch.stack(path)


losses = []
for _ in range(40):
    start = torch.randn(32, 2)
    with torch.no_grad():
        truth = solve(lambda y: y @ rotation.t(), start)
    loss = (solve(field, start) - truth).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
