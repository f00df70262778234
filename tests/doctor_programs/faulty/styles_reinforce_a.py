# expect: target-not-detached line 45, 46, 47
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(11)


class Bandit:
    def __init__(self, arms=5):
        self.w = torch.randn(arms, 6)

    def reset(self):
        self.x = torch.randn(6)
        return self.x

    def step(self, a):
        return (self.w[a] @ self.x).item() + 0.1 * torch.randn(()).item()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.logits = nn.Linear(32, 5)
        self.value = nn.Linear(32, 1)

    def forward(self, x):
        h = self.trunk(x)
        return Categorical(logits=self.logits(h)), self.value(h).squeeze(-1)


env, agent = Bandit(), Agent()
opt = torch.optim.Adam(agent.parameters(), lr=3e-3)
baseline, history = 0.0, []
for episode in range(30):
    logps, values, rewards, entropies = [], [], [], []
    for _ in range(16):
        dist, v = agent(env.reset())
        a = dist.sample()
        rewards.append(env.step(int(a)))
        logps.append(dist.log_prob(a)); values.append(v); entropies.append(dist.entropy())
    R = torch.tensor(rewards)
    logp, value = torch.stack(logps), torch.stack(values)
    adv = R - value
    pg = -(adv * logp).mean()
    loss = pg + 0.5 * (R - value).pow(2).mean() - 0.01 * torch.stack(entropies).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss.item())
print(float(history[-1]))
