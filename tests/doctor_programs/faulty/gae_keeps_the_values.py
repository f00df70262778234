# expect: target-not-detached line 19, 34, 36
# The generalised advantages are built from values that still carry the critic's graph.

import torch
from torch import nn
from torch.distributions import Categorical


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 2))
        self.v = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))


def gae(rewards, values, gamma=0.95, lam=0.9):
    advantages, running = [], 0.0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * values[t + 1] - values[t]
        running = delta + gamma * lam * running
        advantages.append(running)
    return torch.stack(advantages[::-1])


torch.manual_seed(608)
agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
for update in range(20):
    obs = torch.randn(9, 16, 4)
    values = agent.v(obs).squeeze(-1)
    dist = Categorical(logits=agent.pi(obs[:-1]))
    action = dist.sample()
    rewards = (action == (obs[:-1, :, 0] > 0).long()).float()
    advantage = gae(rewards, values)
    returns = (advantage + values[:-1]).detach()
    policy_loss = -(dist.log_prob(action) * advantage).mean()
    value_loss = (returns - values[:-1]).pow(2).mean()
    loss = policy_loss + 0.5 * value_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 5 == 0:
        print(update, rewards.mean().item(), loss.item())
