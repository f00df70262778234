# expect: nothing
# A2C: the advantage is detached in the actor's loss, the critic has its own loss.

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(228)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
regret = []
for _ in range(60):
    obs = torch.randn(64, 3)
    dist, value = model(obs)
    action = dist.sample()
    reward = obs.gather(1, action.unsqueeze(1)).squeeze(1)
    advantage = reward - value
    actor_loss = -(dist.log_prob(action) * advantage.detach()).mean()
    critic_loss = advantage.pow(2).mean()
    loss = actor_loss + 0.5 * critic_loss - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    regret.append((obs.max(dim=1).values - reward).mean().item())
print("regret", sum(regret[:5]) / 5, sum(regret[-5:]) / 5)
