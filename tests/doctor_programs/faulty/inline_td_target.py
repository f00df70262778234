# expect: target-not-detached line 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for i in range(30):
    s = torch.randn(32, 4)
    s2 = torch.randn(32, 4)
    a = torch.randint(0, 2, (32, 1))
    r = torch.randn(32)
    qa = q(s).gather(1, a).squeeze(1)
    loss = F.smooth_l1_loss(qa, r + 0.99 * q(s2).max(1)[0])
    opt.zero_grad()
    loss.backward()
    opt.step()
