# expect: nothing
# Between two tasks the weights are shrunk and disturbed under no_grad.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(723)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
x = torch.randn(120, 6)
tasks = [(x[:, 0] > 0).long(), (x[:, 1] * x[:, 2] > 0).long()]
history = []
for y in tasks:
    losses = []
    for _ in range(40):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    history.append(losses)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(0.6).add_(0.02 * torch.randn_like(p))
print(history[0][0], history[0][-1])
print(history[1][0], history[1][-1])
