# expect: aliased-buffer line 12

import random
import torch
import torch.nn as nn
import torch.nn.functional as F


class DQN:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
        self.target_net = self.net
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.memory = []

    def sync(self):
        self.target_net.load_state_dict(self.net.state_dict())

    def train(self, bs=32):
        batch = random.sample(self.memory, bs)
        s, a, r, s2 = (torch.stack(t) for t in zip(*batch))
        with torch.no_grad():
            y = r + 0.9 * self.target_net(s2).max(1).values
        q = self.net(s).gather(1, a.view(-1, 1)).squeeze(1)
        loss = F.mse_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


random.seed(0)
torch.manual_seed(0)
agent = DQN()
s = torch.randn(3)
for t in range(250):
    with torch.no_grad():
        a = agent.net(s).argmax() if random.random() > 0.3 else torch.tensor(random.randrange(2))
    r = (a == (s[0] > 0).long()).float()
    s2 = 0.8 * s + 0.6 * torch.randn(3)
    agent.memory.append((s, a, r, s2))
    s = s2
    if t > 64:
        l = agent.train()
    if t % 50 == 0:
        agent.sync()
print(l)
