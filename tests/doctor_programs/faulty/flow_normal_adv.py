# expect: target-not-detached line 15, 16

import torch
import torch.nn as nn

torch.manual_seed(0)
mean, value = nn.Linear(4, 2), nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
logstd = nn.Parameter(torch.zeros(2))
opt = torch.optim.Adam([*mean.parameters(), *value.parameters(), logstd], lr=1e-3)
for i in range(40):
    s = torch.randn(64, 4)
    dist = torch.distributions.Normal(mean(s), logstd.exp())
    act = dist.sample()
    ret = -(act - s[:, :2]).pow(2).sum(1)
    gap = ret - value(s).squeeze(1)
    pg = -(dist.log_prob(act).sum(1) * gap).mean()
    loss = pg + 0.5 * gap.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
