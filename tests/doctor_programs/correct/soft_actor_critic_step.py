# expect: nothing
# The actor's loss flows through the critic, whose own gradients are cleared before its step.

import copy

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(229)
actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
critic_target = copy.deepcopy(critic)
log_alpha = torch.tensor(-1.0, requires_grad=True)
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=5e-3)
alpha_opt = torch.optim.Adam([log_alpha], lr=1e-2)


def act(obs):
    mean, log_std = actor(obs).chunk(2, dim=1)
    dist = Normal(mean, log_std.clamp(-4, 1).exp())
    raw = dist.rsample()
    action = torch.tanh(raw)
    log_prob = dist.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)
    return action, log_prob


costs = []
for _ in range(80):
    obs, nxt = torch.randn(64, 3), torch.randn(64, 3)
    with torch.no_grad():
        action, _ = act(obs)
        reward = -(action - obs[:, :1].tanh()).pow(2)
        next_action, next_log_prob = act(nxt)
        next_q = critic_target(torch.cat([nxt, next_action], 1)) - log_alpha.exp() * next_log_prob
        goal = reward + 0.5 * next_q
    critic_loss = nn.functional.mse_loss(critic(torch.cat([obs, action], 1)), goal)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    new_action, log_prob = act(obs)
    q = critic(torch.cat([obs, new_action], 1))
    actor_loss = (log_alpha.exp().detach() * log_prob - q).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()

    alpha_loss = -(log_alpha * (log_prob.detach() - 0.5)).mean()
    alpha_opt.zero_grad()
    alpha_loss.backward()
    alpha_opt.step()
    with torch.no_grad():
        for p, t in zip(critic.parameters(), critic_target.parameters()):
            t.lerp_(p, 0.05)
    costs.append(-reward.mean().item())
print("cost", sum(costs[:8]) / 8, sum(costs[-8:]) / 8)
