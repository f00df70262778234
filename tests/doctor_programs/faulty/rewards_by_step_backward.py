# expect: non-scalar-backward line 24, 26
# REINFORCE over an episode, every time step on its own.

import torch
from torch import nn

policy = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
optim = torch.optim.Adam(policy.parameters(), lr=1e-2)


def episode(n=6):
    logps, rewards = [], []
    for _ in range(n):
        dist = torch.distributions.Categorical(logits=policy(torch.randn(2)))
        a = dist.sample()
        logps.append(dist.log_prob(a))
        rewards.append(float(a))
    return torch.stack(logps), torch.tensor(rewards)


torch.manual_seed(0)
for _ in range(4):
    lp, rew = episode()
    objective = -lp * (rew - rew.mean())
    optim.zero_grad()
    objective.backward()
    optim.step()
