# expect: vanishing-gradient line 11, 19, 20, 21, 22, 24
# Weights drawn with standard deviation 3 saturate every tanh of the policy network.

import torch
from torch import nn
from torch.distributions import Normal


def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=3.0)
        nn.init.zeros_(module.bias)


class Policy(nn.Module):
    def __init__(self, obs=6, act=2):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(obs, 64),
            nn.Tanh(),
            nn.Linear(64, 64),
            nn.Tanh(),
            nn.Linear(64, act),
            nn.Tanh(),
        )
        self.log_std = nn.Parameter(torch.full((act,), -0.5))

    def forward(self, obs):
        return Normal(self.net(obs), self.log_std.exp())


torch.manual_seed(100)
policy = Policy()
policy.apply(init_weights)
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
for update in range(30):
    obs = torch.randn(64, 6)
    dist = policy(obs)
    action = dist.sample()
    reward = -(action - obs[:, :2].tanh()).pow(2).sum(dim=1)
    reward = (reward - reward.mean()) / (reward.std() + 1e-6)
    loss = -(dist.log_prob(action).sum(dim=1) * reward).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 10 == 0:
        print(update, loss.item())
