# expect: target-not-detached line 34, 35, 36
# The bootstrap of a Q-learner is computed from the online network inside the graph.

import random
from collections import deque, namedtuple

import torch
from torch import nn

Transition = namedtuple("Transition", "s a r s2 done")


class Agent:
    def __init__(self, gamma=0.95):
        self.q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
        self.optim = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.memory = deque(maxlen=500)
        self.gamma = gamma

    def act(self, s, eps=0.2):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return self.q(s).argmax().item()

    def learn(self, n=16):
        if len(self.memory) < n:
            return
        batch = Transition(*zip(*random.sample(self.memory, n)))
        s, s2 = torch.stack(batch.s), torch.stack(batch.s2)
        a = torch.tensor(batch.a).unsqueeze(1)
        r, d = torch.tensor(batch.r), torch.tensor(batch.done)
        q_sa = self.q(s).gather(1, a).squeeze(1)
        bootstrap = self.q(s2).max(1).values
        target = r + self.gamma * bootstrap * (1 - d)
        loss = nn.functional.smooth_l1_loss(q_sa, target)
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()


random.seed(0)
torch.manual_seed(0)
agent, s = Agent(), torch.randn(4)
for t in range(80):
    a = agent.act(s)
    s2 = 0.9 * s + 0.1 * torch.randn(4)
    agent.memory.append(Transition(s, a, float(s[a]), s2, float(t % 20 == 19)))
    agent.learn()
    s = s2
