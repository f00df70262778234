# expect: loss-broadcast line 16, 17

import torch
from torch import nn

torch.manual_seed(0)
pi = nn.Linear(4, 2)
v = nn.Linear(4, 1)
opt = torch.optim.Adam([*pi.parameters(), *v.parameters()], lr=1e-3)
for i in range(30):
    s = torch.randn(32, 4)
    d = torch.distributions.Categorical(logits=pi(s))
    a = d.sample()
    r = (a == (s[:, 0] > 0).long()).float()
    value = v(s)
    adv = (r - value).detach()
    vl = (r - value).pow(2).mean()
    pl = -(d.log_prob(a) * adv.mean(1)).mean()
    loss = pl + vl
    opt.zero_grad()
    loss.backward()
    opt.step()
