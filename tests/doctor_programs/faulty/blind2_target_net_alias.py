# expect: aliased-buffer line 22

import torch
import torch.nn as nn

torch.manual_seed(0)


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(4, 32)
        self.l2 = nn.Linear(32, 2)

    def forward(self, x):
        return self.l2(torch.relu(self.l1(x)))


class Agent:
    def __init__(self):
        self.q = QNet()
        self.target = self.q
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)

    def learn(self, s, a, r, s2):
        q = self.q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            y = r + 0.9 * self.target(s2).max(1).values
        loss = nn.functional.mse_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def sync(self):
        self.target.load_state_dict(self.q.state_dict())


agent = Agent()
for i in range(50):
    s = torch.randn(32, 4)
    a = torch.randint(0, 2, (32,))
    l = agent.learn(s, a, (a == (s[:, 0] > 0).long()).float(), torch.randn(32, 4))
    if i % 10 == 0:
        agent.sync()
print(l)
