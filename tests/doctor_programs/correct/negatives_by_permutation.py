# expect: nothing
# Mutual information by shuffled pairs (MINE): permuted rows are the point.

import torch
from torch import nn

torch.manual_seed(0)
t = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(t.parameters(), lr=3e-3)
for i in range(30):
    x = torch.randn(64, 2)
    y = x + 0.3 * torch.randn(64, 2)
    joint = t(torch.cat([x, y], 1))
    marginal = t(torch.cat([x, y[torch.randperm(64)]], 1))
    loss = -(joint.mean() - torch.logsumexp(marginal, 0).squeeze() + 4.1589)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(-loss.item())
