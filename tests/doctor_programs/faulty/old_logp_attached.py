# expect: target-not-detached line 14, 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
pi = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(pi.parameters(), lr=1e-3)
for it in range(10):
    s = torch.randn(64, 4)
    a = torch.randint(0, 2, (64, 1))
    adv = torch.randn(64)
    old_logp = F.log_softmax(pi(s), 1).gather(1, a).squeeze(1)
    logp = F.log_softmax(pi(s), 1).gather(1, a).squeeze(1)
    ratio = (logp - old_logp).exp()
    loss = -(ratio * adv).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
