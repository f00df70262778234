# expect: nothing
# A ring buffer of preallocated tensors, filled by assignment.

import torch
import torch.nn.functional as F
from torch import nn


class Replay:
    def __init__(self, size, dim):
        self.obs, self.act = torch.zeros(size, dim), torch.zeros(size, dtype=torch.long)
        self.rew, self.size, self.count = torch.zeros(size), size, 0

    def add(self, obs, act, rew):
        i = self.count % self.size
        self.obs[i], self.act[i], self.rew[i] = obs, act, rew
        self.count += 1

    def sample(self, n):
        index = torch.randint(0, min(self.count, self.size), (n,))
        return self.obs[index], self.act[index], self.rew[index]


torch.manual_seed(1010)
replay = Replay(100, 3)
q = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(q.parameters(), lr=5e-3)
obs, losses = torch.zeros(3), []
for _ in range(250):
    obs.mul_(0.5).add_(torch.randn(3))
    action = int(torch.randint(0, 2, ()))
    replay.add(obs, action, obs[0].item() * (1 if action else -1))
    if replay.count >= 32:
        s, a, r = replay.sample(32)
        loss = F.mse_loss(q(s).gather(1, a.unsqueeze(1)).squeeze(1), r)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(sum(losses[:10]) / 10, sum(losses[-10:]) / 10)
