# expect: graph-leak line 22
# Log-probabilities of all episodes stay in the agent's list.

import torch
from torch import nn


class Reinforce:
    def __init__(self):
        self.pi = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        self.opt = torch.optim.Adam(self.pi.parameters(), lr=1e-2)
        self.trace = []

    def episode(self):
        logps, rews = [], []
        for _ in range(5):
            d = torch.distributions.Categorical(logits=self.pi(torch.randn(2)))
            a = d.sample()
            logps.append(d.log_prob(a))
            rews.append(float(a))
        logps = torch.stack(logps)
        self.trace.append((logps, sum(rews)))
        loss = -(logps * (torch.tensor(rews) - 0.5)).sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


torch.manual_seed(0)
agent = Reinforce()
for _ in range(30):
    agent.episode()
print(sum(r for _, r in agent.trace))
