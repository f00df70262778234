# expect: nothing
import copy

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 8))
step_ahead = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
reward = nn.Linear(8, 1)
slow = copy.deepcopy(encoder)
slow.requires_grad_(False)
online = [*encoder.parameters(), *step_ahead.parameters(), *reward.parameters()]
optimizer = torch.optim.Adam(online, lr=2e-3)
drift = 0.3 * torch.randn(2, 6)
for step in range(40):
    now, action = torch.randn(48, 6), torch.randn(48, 2)
    later = 0.9 * now + action @ drift
    z = encoder(now)
    predicted = step_ahead(torch.cat([z, action], dim=1))
    wanted = slow(later)
    loss = F.mse_loss(predicted, wanted)
    loss = loss + F.mse_loss(reward(z).squeeze(1), now[:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for s, p in zip(slow.parameters(), encoder.parameters()):
            s.mul_(0.95).add_(p, alpha=0.05)
