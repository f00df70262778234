# expect: aliased-buffer line 12

import torch
from torch import nn


class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.q_target = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        for p, t in zip(self.q.parameters(), self.q_target.parameters()):
            t.data = p.data
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)

    def learn(self, s, a, r, s2):
        with torch.no_grad():
            y = r + 0.9 * self.q_target(s2).max(1).values
        loss = nn.functional.mse_loss(self.q(s).gather(1, a).squeeze(1), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


torch.manual_seed(0)
ag = Agent()
for i in range(40):
    ag.learn(torch.randn(16, 4), torch.randint(0, 2, (16, 1)), torch.randn(16), torch.randn(16, 4))
