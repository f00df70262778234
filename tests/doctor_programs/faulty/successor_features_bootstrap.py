# expect: target-not-detached line 17, 18, 19
# Successor features bootstrap from the same network and move their own target.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(907)
phi = nn.Linear(4, 6).requires_grad_(False)
psi = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 6))
optimizer = torch.optim.Adam(psi.parameters(), lr=3e-3)
dynamics = torch.randn(4, 4) / 3

for step in range(40):
    s = torch.randn(64, 4)
    s2 = s @ dynamics + 0.1 * torch.randn(64, 4)
    current, following = psi(s), psi(s2)
    goal = phi(s) + 0.9 * following
    loss = F.mse_loss(current, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
