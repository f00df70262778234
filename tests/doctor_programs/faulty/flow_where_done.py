# expect: target-not-detached line 15, 16

import torch
import torch.nn as nn

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for i in range(40):
    s = torch.randn(32, 3)
    s2 = 0.9 * s
    r = s[:, 0]
    a = torch.randint(0, 2, (32, 1))
    done = torch.rand(32) < 0.1
    y = torch.where(done, r, r + 0.99 * q(s2).amax(1))
    loss = nn.functional.huber_loss(q(s).gather(1, a)[:, 0], y)
    opt.zero_grad()
    loss.backward()
    opt.step()
