# expect: nothing
import torch
from torch import nn
from torch.distributions import Normal


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
        self.value = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
        self.log_std = nn.Parameter(torch.zeros(2))

    def forward(self, state):
        return Normal(self.policy(state), self.log_std.exp()), self.value(state).squeeze(-1)


torch.manual_seed(0)
pair = Pair()
optimizer = torch.optim.Adam(pair.parameters(), lr=3e-3)
for episode in range(40):
    state = torch.randn(24, 2)
    log_probs, values, rewards, entropies = [], [], [], []
    for _ in range(5):
        normal, value = pair(state)
        action = normal.sample()
        state = 0.9 * state + 0.2 * action.clamp(-1, 1)
        log_probs.append(normal.log_prob(action).sum(-1))
        entropies.append(normal.entropy().sum(-1))
        values.append(value)
        rewards.append(-state.pow(2).sum(-1))
    returns, total = [], torch.zeros(24)
    for reward in reversed(rewards):
        total = reward + 0.95 * total
        returns.insert(0, total)
    error = torch.stack(returns) - torch.stack(values)
    actor = -(torch.stack(log_probs) * error.detach()).mean()
    loss = actor + 0.5 * error.pow(2).mean() - 1e-3 * torch.stack(entropies).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
