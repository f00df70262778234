# expect: target-not-detached line 34, 35
# Double DQN: the bootstrap value is computed with the graph on.

import random
from collections import deque

import torch
import torch.nn as nn


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, s):
        return self.net(s)


class Agent:
    def __init__(self):
        self.q = QNet()
        self.target = QNet()
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(list(self.q.parameters()), lr=1e-3)
        self.memory = deque(maxlen=500)

    def learn(self):
        batch = random.sample(self.memory, 16)
        s, a, r, s2 = map(torch.stack, zip(*batch))
        q = self.q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        best = self.q(s2).argmax(1, keepdim=True)
        bootstrap = self.q(s2).gather(1, best).squeeze(1)
        y = r + 0.95 * bootstrap
        loss = nn.functional.mse_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(0)
random.seed(0)
agent = Agent()
for i in range(60):
    s = torch.randn(4)
    a = torch.randint(0, 2, ())
    agent.memory.append((s, a, s[0] * (a * 2 - 1), s + 0.1 * torch.randn(4)))
    if i >= 20:
        value = agent.learn()
print(value)
