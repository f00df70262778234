# expect: loss-broadcast line 19
# Rewards (T,) minus values (T, 1) gives a T by T table of advantages.

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(337)
policy = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 2))
value_net = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam([*policy.parameters(), *value_net.parameters()], lr=3e-3)

for episode in range(20):
    obs = torch.randn(40, 4)
    dist = Categorical(logits=policy(obs))
    action = dist.sample()
    rewards = torch.where(action == (obs[:, 0] > 0).long(), 1.0, -1.0)
    values = value_net(obs)
    advantage = rewards - values
    policy_loss = -(dist.log_prob(action) * advantage.detach()).mean()
    value_loss = advantage.pow(2).mean()
    loss = policy_loss + 0.5 * value_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if episode % 5 == 0:
        print(episode, rewards.mean().item(), loss.item())
