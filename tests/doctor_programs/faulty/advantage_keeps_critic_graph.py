# expect: target-not-detached line 35, 36
# The actor's loss multiplies by an advantage that still carries the critic's graph.

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(61)


class ActorCritic(nn.Module):
    def __init__(self, obs=3, actions=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.Tanh())
        self.pi = nn.Linear(32, actions)
        self.v = nn.Linear(32, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def rollout(model, n=48):
    obs = torch.randn(n, 3)
    dist, value = model(obs)
    action = dist.sample()
    reward = obs.gather(1, action.unsqueeze(1)).squeeze(1)
    return dist, value, action, reward


model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for update in range(40):
    dist, value, action, returns = rollout(model)
    advantage = returns - value
    actor_loss = -(dist.log_prob(action) * advantage).mean()
    critic_loss = nn.functional.mse_loss(value, returns)
    loss = actor_loss + 0.5 * critic_loss - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 10 == 0:
        print(f"update {update} return {returns.mean().item():.3f} loss {loss.item():.3f}")
