# expect: detached-graph line 19
# The actor's action is drawn with sample(), which cuts the path from the critic to the actor.

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(183)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))

    def forward(self, obs):
        mean, log_std = self.net(obs).chunk(2, dim=1)
        dist = Normal(mean, log_std.clamp(-3, 1).exp())
        return torch.tanh(dist.sample())


actor = Actor()
critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=3e-3)

for step in range(30):
    obs = torch.randn(64, 3)
    with torch.no_grad():
        action = actor(obs)
    reward = -(action - obs[:, :1].tanh()).pow(2)
    critic_loss = nn.functional.mse_loss(critic(torch.cat([obs, action], dim=1)), reward)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    actor_loss = -critic(torch.cat([obs, actor(obs)], dim=1)).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    if step % 10 == 0:
        print(step, critic_loss.item(), actor_loss.item())
