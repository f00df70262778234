# expect: retain-graph-misuse line 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
G = nn.Linear(2, 2)
D = nn.Linear(2, 1)
og = torch.optim.SGD(G.parameters(), lr=0.01)
od = torch.optim.SGD(D.parameters(), lr=0.01)
for i in range(15):
    fake = G(torch.randn(16, 2))
    d_loss = F.softplus(D(fake.detach())).mean() + F.softplus(-D(torch.randn(16, 2) + 1)).mean()
    od.zero_grad()
    d_loss.backward(retain_graph=True)
    od.step()
    g_loss = F.softplus(-D(fake)).mean()
    og.zero_grad()
    g_loss.backward()
    og.step()
