# expect: aliased-buffer line 15
# The target network takes the online network's parameters over by .data assignment.

import torch
import torch.nn.functional as F
from torch import nn


def make():
    return nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))


def hard_update(target, source):
    for t, s in zip(target.parameters(), source.parameters()):
        t.data = s.data


torch.manual_seed(1103)
online, target = make(), make()
hard_update(target, online)
optimizer = torch.optim.Adam(online.parameters(), lr=3e-3)
for step in range(60):
    s = torch.randn(32, 3)
    a = torch.randint(0, 2, (32, 1))
    r = torch.where(a == 1, s[:, :1], -s[:, :1])
    with torch.no_grad():
        goal = r + 0.9 * target(0.5 * s).max(dim=1, keepdim=True).values
    loss = F.mse_loss(online(s).gather(1, a), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        hard_update(target, online)
        print(step, loss.item())
