# expect: loss-broadcast line 24
# gather() leaves (N, 1), the TD target has (N,): the Huber loss sees an N by N table.

import copy

import torch
import torch.nn.functional as F
from torch import nn


class DQNAgent:
    def __init__(self, obs=4, actions=3, gamma=0.9):
        torch.manual_seed(132)
        self.q = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, actions))
        self.target_q = copy.deepcopy(self.q)
        self.gamma = gamma
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=2e-3)

    def learn(self, s, a, r, s2):
        q_value = self.q(s).gather(1, a.unsqueeze(1))
        with torch.no_grad():
            best = self.target_q(s2).max(dim=1).values
            target = r + self.gamma * best
        loss = F.smooth_l1_loss(q_value, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def sync(self):
        self.target_q.load_state_dict(self.q.state_dict())


agent = DQNAgent()
for step in range(40):
    s = torch.randn(32, 4)
    a = torch.randint(0, 3, (32,))
    r = s.gather(1, a.unsqueeze(1)).squeeze(1)
    value = agent.learn(s, a, r, 0.5 * s + torch.randn(32, 4))
    if step % 10 == 0:
        agent.sync()
        print(step, value)
