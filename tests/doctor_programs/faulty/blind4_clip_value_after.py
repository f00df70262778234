# expect: clip-misplaced line 27

import clew as torch
import clew.nn as nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, s):
        return torch.distributions.Categorical(logits=self.f(s))


class Agent:
    def __init__(self):
        self.pi = Policy()
        self.opt = torch.optim.SGD(self.pi.parameters(), lr=0.05)

    def learn(self, states, actions, returns):
        logp = self.pi(states).log_prob(actions)
        loss = -(logp * (returns - returns.mean())).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        nn.utils.clip_grad_value_(self.pi.parameters(), 0.5)
        return loss.item()


torch.manual_seed(0)
agent = Agent()
for ep in range(60):
    s = torch.randn(32, 4)
    with torch.no_grad():
        a = agent.pi(s).sample()
    r = (a == (s[:, 0] > 0).long()).float()
    l = agent.learn(s, a, r)
    if ep % 20 == 0:
        print(ep, l, r.mean().item())
