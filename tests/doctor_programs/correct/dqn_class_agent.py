# expect: nothing
# A DQN agent with replay, target network and epsilon-greedy choice.

import random
from collections import deque, namedtuple

import clew as torch
from clew import nn

T = namedtuple("T", "s a r s2 done")


class Agent:
    def __init__(self):
        self.q, self.tq = self.net(), self.net()
        self.tq.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.buf = deque(maxlen=300)
        self.n = 0

    def net(self):
        return nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))

    @torch.no_grad()
    def act(self, s, eps):
        return random.randrange(2) if random.random() < eps else self.q(s[None]).argmax().item()

    def learn(self):
        b = T(*zip(*random.sample(self.buf, 16)))
        s, s2 = torch.stack(b.s), torch.stack(b.s2)
        a, r, d = torch.tensor(b.a), torch.tensor(b.r), torch.tensor(b.done)
        q = self.q(s)[torch.arange(16), a]
        with torch.no_grad():
            y = r + 0.95 * (1 - d) * self.tq(s2).max(1)[0]
        loss = nn.functional.huber_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        for p in self.q.parameters():
            p.grad.clamp_(-1, 1)
        self.opt.step()
        self.n += 1
        if self.n % 10 == 0:
            self.tq.load_state_dict(self.q.state_dict())
        return loss.item()


torch.manual_seed(0)
random.seed(0)
agent = Agent()
s = torch.zeros(3)
for t in range(80):
    a = agent.act(s, 0.3)
    s2 = 0.9 * s + 0.2 * torch.randn(3) + 0.1 * (2 * a - 1)
    agent.buf.append(T(s, a, -float(s2.abs().sum()), s2, float(t % 20 == 19)))
    s = s2
    if t > 20:
        v = agent.learn()
print(v)
