# expect: target-not-detached line 21, 22

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
big = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))
small = nn.Linear(8, 4)
ob = torch.optim.Adam(big.parameters(), lr=1e-3)
for i in range(60):
    x = torch.randn(64, 8)
    y = x[:, :4].argmax(1)
    loss = F.cross_entropy(big(x), y)
    ob.zero_grad()
    loss.backward()
    ob.step()
opt = torch.optim.Adam([*small.parameters(), *big.parameters()], lr=1e-3)
for i in range(30):
    x = torch.randn(64, 8)
    soft = F.softmax(big(x) / 2, dim=-1)
    loss = -(soft * F.log_softmax(small(x) / 2, dim=-1)).sum(-1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
