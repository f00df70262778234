# expect: loss-broadcast line 18, 19

import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
        self.target = copy.deepcopy(self.q)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)

    def learn(self, s, a, r, s2, d):
        q = self.q(s).gather(1, a.unsqueeze(1))
        with torch.no_grad():
            tgt = r + 0.9 * (1 - d) * self.target(s2).max(1).values
        loss = F.smooth_l1_loss(q, tgt)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(0)
ag = Agent()
for it in range(80):
    s = torch.randn(32, 4)
    a = torch.randint(0, 3, (32,))
    r = (a == s[:, :3].argmax(1)).float()
    l = ag.learn(s, a, r, torch.randn(32, 4), (torch.rand(32) < 0.1).float())
    if it % 20 == 0:
        ag.target.load_state_dict(ag.q.state_dict())
        print(it, l)
