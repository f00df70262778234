# expect: target-not-detached line 32, 33
# The n-step return bootstraps from the critic's last value without detaching it.

import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs):
        return self.net(obs).squeeze(-1)


def n_step_returns(rewards, last_value, gamma=0.9):
    returns, running = [], last_value
    for reward in reversed(rewards):
        running = reward + gamma * running
        returns.append(running)
    return torch.stack(returns[::-1])


torch.manual_seed(317)
critic = Critic()
optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3)
for episode in range(30):
    obs = torch.randn(6, 16, 3)
    rewards = [obs[t, :, 0].clamp(-1, 1) for t in range(5)]
    values = critic(obs)
    returns = n_step_returns(rewards, values[-1])
    loss = (returns - values[:-1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if episode % 10 == 0:
        print(episode, loss.item())
