# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
for i in range(40):
    x1 = torch.randn(32, 10)
    same = (torch.rand(32) < 0.5).float()
    x2 = torch.where(same[:, None] > 0, x1 + 0.1 * torch.randn(32, 10), torch.randn(32, 10))
    anchor, target = enc(x1), enc(x2)
    d = (anchor - target).pow(2).sum(1)
    loss = (same * d + (1 - same) * F.relu(1 - d.clamp_min(1e-6).sqrt()).pow(2)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
