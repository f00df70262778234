# expect: nothing
# RankNet: (N, 1) against (1, N) differences are meant.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), 3e-3)
for _ in range(20):
    x = torch.randn(24, 5)
    rel = x[:, 0] + 0.5 * x[:, 1]
    s = net(x)
    diff = s - s.t()
    want = (rel[:, None] > rel[None]).float()
    m = ~torch.eye(24, dtype=torch.bool)
    l = F.binary_cross_entropy_with_logits(diff[m], want[m])
    opt.zero_grad()
    l.backward()
    opt.step()
