# expect: nothing
# REINFORCE with a greedy rollout as the baseline, which is computed under no_grad.

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(714)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def reward_of(obs, action):
    return obs.gather(1, action.unsqueeze(1)).squeeze(1)


regret = []
for _ in range(60):
    obs = torch.randn(64, 5)
    logits = model(obs)
    dist = Categorical(logits=logits)
    action = dist.sample()
    with torch.no_grad():
        baseline = reward_of(obs, model(obs).argmax(1))
    reward = reward_of(obs, action)
    loss = -((reward - baseline) * dist.log_prob(action)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    regret.append((obs.max(1).values - reward).mean().item())
print(sum(regret[:5]) / 5, sum(regret[-5:]) / 5)
