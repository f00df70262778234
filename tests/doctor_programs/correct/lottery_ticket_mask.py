# expect: nothing
# Pruned weights are set to zero after each step and never come back.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(508)
model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 2))
masks = {
    n: (p.abs() > p.abs().median()).float() for n, p in model.named_parameters() if p.dim() > 1
}


@torch.no_grad()
def prune():
    for n, p in model.named_parameters():
        if n in masks:
            p.mul_(masks[n])


prune()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(100, 8)
y = (x[:, 0] > x[:, 1]).long()
losses = []
for _ in range(30):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    prune()
    losses.append(loss.item())
print(losses[0], losses[-1])
