# expect: missing-step line 11, 25

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
value = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
popt = torch.optim.Adam(policy.parameters(), lr=3e-3)
vopt = torch.optim.Adam(value.parameters(), lr=3e-3)
for ep in range(40):
    s = torch.randn(24, 4)
    dist = torch.distributions.Categorical(logits=policy(s))
    a = dist.sample()
    r = (a == (s[:, 0] > 0).long()).float()
    v = value(s).squeeze(-1)
    adv = r - v.detach()
    ploss = -(dist.log_prob(a) * adv).mean()
    vloss = F.mse_loss(v, r)
    popt.zero_grad()
    ploss.backward()
    popt.step()
    vopt.zero_grad()
    vloss.backward()
    if ep % 10 == 0:
        print(r.mean().item(), vloss.item())
