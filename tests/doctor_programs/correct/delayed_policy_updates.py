# expect: nothing
# TD3: the actor and the targets move only every second step, two critics share one optimizer.

import copy

import torch
import torch.nn.functional as F
from torch import nn


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 24), nn.ReLU(), nn.Linear(24, n_out))


torch.manual_seed(406)
actor, q1, q2 = mlp(2, 1), mlp(3, 1), mlp(3, 1)
actor_t, q1_t, q2_t = (copy.deepcopy(m) for m in (actor, q1, q2))
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=5e-3)
costs = []
for step in range(100):
    s, s2 = torch.randn(48, 2), torch.randn(48, 2)
    with torch.no_grad():
        a = (torch.tanh(actor(s)) + 0.2 * torch.randn(48, 1)).clamp(-1, 1)
        r = -((a - torch.tanh(s[:, :1])) ** 2)
        a2 = (torch.tanh(actor_t(s2)) + 0.1 * torch.randn(48, 1)).clamp(-1, 1)
        sa2 = torch.cat([s2, a2], dim=1)
        goal = r + 0.6 * torch.min(q1_t(sa2), q2_t(sa2))
    sa = torch.cat([s, a], dim=1)
    critic_loss = F.mse_loss(q1(sa), goal) + F.mse_loss(q2(sa), goal)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    if step % 2 == 0:
        actor_loss = -q1(torch.cat([s, torch.tanh(actor(s))], dim=1)).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        with torch.no_grad():
            for net, target in ((actor, actor_t), (q1, q1_t), (q2, q2_t)):
                for p, t in zip(net.parameters(), target.parameters()):
                    t.mul_(0.95).add_(0.05 * p)
    costs.append(-r.mean().item())
print("cost", sum(costs[:8]) / 8, sum(costs[-8:]) / 8)
