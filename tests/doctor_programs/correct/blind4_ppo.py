# expect: nothing

import torch
import torch.nn as nn
from torch.distributions import Normal


class Pi(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, s):
        return Normal(self.mu(s), self.log_std.exp())


torch.manual_seed(0)
pi, vf = Pi(), nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
po, vo = torch.optim.Adam(pi.parameters(), lr=3e-3), torch.optim.Adam(vf.parameters(), lr=3e-3)
for ep in range(15):
    s = torch.randn(64, 3)
    with torch.no_grad():
        d = pi(s)
        a = d.sample()
        old = d.log_prob(a).sum(1)
        r = -((a.squeeze(1) - s[:, 0]) ** 2)
        adv = r - vf(s).squeeze(1)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(5):
        ratio = (pi(s).log_prob(a).sum(1) - old).exp()
        lp = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        po.zero_grad()
        lp.backward()
        po.step()
        lv = nn.functional.mse_loss(vf(s).squeeze(1), r)
        vo.zero_grad()
        lv.backward()
        vo.step()
    print(ep, r.mean().item())
