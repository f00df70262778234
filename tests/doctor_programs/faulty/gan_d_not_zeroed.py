# expect: missing-zero-grad line 14, 16, 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
G = nn.Linear(2, 2)
D = nn.Linear(2, 1)
og = torch.optim.SGD(G.parameters(), lr=0.01)
od = torch.optim.SGD(D.parameters(), lr=0.01)
for i in range(20):
    fake = G(torch.randn(16, 2))
    og.zero_grad()
    ld = F.softplus(D(fake.detach())).mean() + F.softplus(-D(torch.randn(16, 2))).mean()
    ld.backward()
    od.step()
    og.zero_grad()
    lg = F.softplus(-D(fake)).mean()
    lg.backward()
    og.step()
