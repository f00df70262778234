# expect: nothing
# The last layer of a policy starts at zero, as recommended.

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
nn.init.zeros_(policy[2].weight)
nn.init.zeros_(policy[2].bias)
log_std = nn.Parameter(torch.zeros(2))
opt = torch.optim.Adam([*policy.parameters(), log_std], lr=3e-3)
baseline = 0.0
for i in range(40):
    s = torch.randn(64, 4)
    d = torch.distributions.Normal(policy(s), log_std.exp())
    a = d.sample()
    r = -(a - s[:, :2]).pow(2).sum(1)
    loss = -(d.log_prob(a).sum(1) * (r - baseline)).mean()
    baseline = 0.9 * baseline + 0.1 * r.mean().item()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(baseline)
