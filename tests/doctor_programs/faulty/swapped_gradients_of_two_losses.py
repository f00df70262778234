# expect: zero-grad-before-step line 17, 28
# The actor's gradients are cleared together with the critic's before the actor's step.

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(1105)
actor = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 3))
critic = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=5e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=5e-3)


def clear(*optimizers):
    for optimizer in optimizers:
        optimizer.zero_grad()


for update in range(25):
    obs = torch.randn(64, 4)
    dist = Categorical(logits=actor(obs))
    action = dist.sample()
    reward = (action == obs[:, :3].argmax(1)).float()
    value = critic(obs).squeeze(1)
    actor_loss = -(dist.log_prob(action) * (reward - value.detach())).mean()
    actor_loss.backward()
    clear(actor_opt, critic_opt)
    critic_loss = (value - reward).pow(2).mean()
    critic_loss.backward()
    critic_opt.step()
    actor_opt.step()
    if update % 8 == 0:
        print(update, reward.mean().item(), critic_loss.item())
