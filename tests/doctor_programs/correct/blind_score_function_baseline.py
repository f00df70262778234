# expect: nothing
# REINFORCE with a running baseline, several episodes summed and divided before one step.

import torch
from torch import nn

torch.manual_seed(0)
pi = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 3))
opt = torch.optim.Adam(pi.parameters(), 1e-2)
base = 0.0
N = 4
for it in range(15):
    opt.zero_grad()
    for ep in range(N):
        lps, rs = [], []
        for t in range(6):
            s = torch.randn(2)
            d = torch.distributions.Categorical(logits=pi(s))
            a = d.sample()
            lps.append(d.log_prob(a))
            rs.append(float(a == (0 if s[0] > 0 else 1)))
        R = sum(rs)
        loss = -(R - base) * torch.stack(lps).sum() / N
        loss.backward()
        base = 0.95 * base + 0.05 * R
    opt.step()
