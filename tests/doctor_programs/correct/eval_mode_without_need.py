# expect: nothing
# A policy without dropout or normalisation is left in eval mode: it makes no difference.

import torch
from torch import nn
from torch.distributions import Normal


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
        self.log_std = nn.Parameter(torch.tensor([-0.5]))

    def forward(self, obs):
        return Normal(self.mean(obs), self.log_std.exp())


torch.manual_seed(525)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
costs = []
for _ in range(60):
    policy.eval()
    obs = torch.randn(128, 3)
    with torch.no_grad():
        action = policy(obs).sample()
    cost = (action - obs[:, :1]).pow(2).squeeze(1)
    advantage = -(cost - cost.mean()) / (cost.std() + 1e-6)
    loss = -(policy(obs).log_prob(action).squeeze(1) * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    costs.append(cost.mean().item())
print(sum(costs[:5]) / 5, sum(costs[-5:]) / 5)
