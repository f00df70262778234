# expect: batch-mixing line 18

import torch
import torch.nn as nn
import torch.nn.functional as F


class Dueling(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
        self.v = nn.Linear(32, 1)
        self.a = nn.Linear(32, 3)

    def forward(self, s):
        h = self.f(s)
        adv = self.a(h)
        return self.v(h) + adv - adv.mean()


torch.manual_seed(0)
q = Dueling()
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for i in range(30):
    s = torch.randn(32, 4)
    act = torch.randint(0, 3, (32,))
    r = torch.randn(32)
    qa = q(s).gather(1, act[:, None]).squeeze(1)
    loss = F.smooth_l1_loss(qa, r)
    opt.zero_grad()
    loss.backward()
    opt.step()
