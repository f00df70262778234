# expect: nothing
# DDPG-style target networks, copied once and then moved by Polyak averaging.

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(276)
actor = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 1))
actor_t, critic_t = copy.deepcopy(actor), copy.deepcopy(critic)
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=5e-3)


def soft_update(source, target, tau=0.05):
    for s, t in zip(source.parameters(), target.parameters()):
        t.data.copy_(tau * s.data + (1 - tau) * t.data)


costs = []
for _ in range(100):
    s = torch.randn(64, 2)
    a = (actor(s).detach() + 0.3 * torch.randn(64, 1)).clamp(-1, 1)
    r = -((a - torch.tanh(2 * s[:, :1])) ** 2)
    s2 = torch.randn(64, 2)
    with torch.no_grad():
        goal = r + 0.5 * critic_t(torch.cat([s2, actor_t(s2)], dim=1))
    critic_loss = F.mse_loss(critic(torch.cat([s, a], dim=1)), goal)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    actor_loss = -critic(torch.cat([s, actor(s)], dim=1)).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    soft_update(actor, actor_t)
    soft_update(critic, critic_t)
    costs.append((actor(s).detach() - torch.tanh(2 * s[:, :1])).pow(2).mean().item())
print("actor error", costs[0], costs[-1])
