# expect: aliased-buffer line 9
# The snapshot of the initial weights shares their memory, the measured distance is always zero.

import torch
from torch import nn

torch.manual_seed(192)
model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
initial = [p.detach() for p in model.parameters()]
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def distance_from_start():
    with torch.no_grad():
        pairs = zip(model.parameters(), initial)
        return sum((p - q).pow(2).sum() for p, q in pairs).sqrt().item()


x = torch.randn(100, 4)
y = torch.sin(x[:, :1]) * x[:, 1:2]
for epoch in range(20):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f} moved {distance_from_start():.4f}")
