# expect: nothing
# A softmax output is right for Categorical(probs=...), no loss applies it twice.

import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, obs):
        return torch.softmax(self.body(obs), dim=-1)


torch.manual_seed(417)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
baseline, errors = 0.0, []
for _ in range(60):
    obs = torch.randn(64, 4)
    dist = Categorical(probs=policy(obs))
    action = dist.sample()
    reward = (action == obs.argmax(1)).float()
    loss = -(dist.log_prob(action) * (reward - baseline)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()
    errors.append(1 - reward.mean().item())
print("errors", sum(errors[:6]) / 6, sum(errors[-6:]) / 6)
