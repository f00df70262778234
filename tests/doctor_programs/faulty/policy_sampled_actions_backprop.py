# expect: detached-graph line 18
# A continuous policy is trained through sample() in place of rsample().

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def act(self, s):
        return Normal(self.mu(s), self.log_std.exp()).sample()


policy = Policy()
q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
po = torch.optim.Adam(policy.parameters(), lr=1e-3)
qo = torch.optim.Adam(q.parameters(), lr=1e-3)
for i in range(25):
    s = torch.randn(16, 3)
    a = policy.act(s)
    ql = nn.functional.mse_loss(q(torch.cat([s, a], 1)), -((a - s[:, :1]) ** 2))
    qo.zero_grad()
    ql.backward()
    qo.step()
    pl = -q(torch.cat([s, policy.act(s)], 1)).mean()
    po.zero_grad()
    pl.backward()
    po.step()
print(pl.item())
