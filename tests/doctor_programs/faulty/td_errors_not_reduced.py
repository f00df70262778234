# expect: non-scalar-backward line 19, 21
# The squared TD errors of the batch are back-propagated without a mean.

import torch
from torch import nn

torch.manual_seed(324)


class SarsaAgent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=1e-3)

    def update(self, s, a, r, s2, a2):
        with torch.no_grad():
            goal = r + 0.9 * self.q(s2).gather(1, a2).squeeze(1)
        value = self.q(s).gather(1, a).squeeze(1)
        td_error = (goal - value) ** 2
        self.optimizer.zero_grad()
        td_error.backward()
        self.optimizer.step()


agent = SarsaAgent()
for _ in range(5):
    s, s2 = torch.randn(16, 3), torch.randn(16, 3)
    a, a2 = torch.randint(0, 2, (16, 1)), torch.randint(0, 2, (16, 1))
    agent.update(s, a, s[:, 0], s2, a2)
