# expect: nothing
# One network is called twice per step; one loss.

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
emb = nn.Sequential(nn.Linear(5, 24), nn.PReLU(), nn.Linear(24, 6))
opt = torch.optim.Adam(emb.parameters(), lr=2e-3)
for i in range(30):
    a, b = torch.randn(20, 5), torch.randn(20, 5)
    same = (a[:, 0] * b[:, 0] > 0).float()
    d = F.pairwise_distance(emb(a), emb(b))
    loss = (same * d.pow(2) + (1 - same) * F.relu(1.0 - d).pow(2)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
