# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F


class SGNS(nn.Module):
    def __init__(self, v, d):
        super().__init__()
        self.u, self.v = nn.Embedding(v, d), nn.Embedding(v, d)
        nn.init.uniform_(self.u.weight, -0.5 / d, 0.5 / d)
        nn.init.zeros_(self.v.weight)

    def forward(self, c, o, neg):
        uc = self.u(c)
        pos = (uc * self.v(o)).sum(1)
        ng = torch.bmm(self.v(neg), uc.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(pos) + F.logsigmoid(-ng).sum(1)).mean()


torch.manual_seed(0)
V = 30
net = SGNS(V, 12)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(150):
    c = torch.randint(0, V, (64,))
    o = (c // 5) * 5 + torch.randint(0, 5, (64,))
    neg = torch.randint(0, V, (64, 4))
    loss = net(c, o, neg)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 50 == 0:
        print(i, loss.item())
