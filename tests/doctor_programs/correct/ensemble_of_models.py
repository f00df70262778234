# expect: nothing
# Several models in a plain list, each with its own optimizer.

import torch
from torch import nn

torch.manual_seed(286)
x = torch.randn(100, 4)
y = x[:, :1] * x[:, 1:2]
members = [nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1)) for _ in range(3)]
optimizers = [torch.optim.Adam(m.parameters(), lr=1e-2) for m in members]


def ensemble_error():
    with torch.no_grad():
        mean = torch.stack([m(x) for m in members]).mean(dim=0)
    return (mean - y).pow(2).mean().item()


first = ensemble_error()
for _ in range(30):
    for member, optimizer in zip(members, optimizers):
        pick = torch.randint(0, 100, (60,))
        loss = nn.functional.mse_loss(member(x[pick]), y[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print("ensemble", first, ensemble_error())
