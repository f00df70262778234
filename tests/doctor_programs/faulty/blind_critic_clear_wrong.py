# expect: missing-zero-grad line 17, 18, 19
# Actor-critic with two optimizers: the critic's zero_grad is called on the actor's.

import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
ao, co = torch.optim.Adam(actor.parameters(), 1e-3), torch.optim.Adam(critic.parameters(), 1e-3)
for it in range(25):
    s = torch.randn(32, 4)
    d = torch.distributions.Categorical(logits=actor(s))
    a = d.sample()
    r = (a.float() * s[:, 0]).unsqueeze(1)
    v = critic(s)
    critic_loss = (r - v).pow(2).mean()
    ao.zero_grad()
    critic_loss.backward()
    co.step()
    actor_loss = -(d.log_prob(a).unsqueeze(1) * (r - v.detach())).mean()
    ao.zero_grad()
    actor_loss.backward()
    ao.step()
