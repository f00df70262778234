# expect: nothing
# PPO re-uses old log-probabilities and detached advantages for several epochs.

import torch
from torch import nn
from torch.distributions import Normal


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
        self.v = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def dist(self, s):
        return Normal(self.mu(s), self.log_std.exp())


torch.manual_seed(0)
ac = AC()
opt = torch.optim.Adam(ac.parameters(), lr=3e-3, eps=1e-5)
for rollout in range(4):
    s = torch.randn(64, 3)
    with torch.no_grad():
        d = ac.dist(s)
        a = d.sample()
        old = d.log_prob(a)
        ret = -(a - s.sum(1, keepdim=True)).abs()
        adv = ret - ac.v(s)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for epoch in range(3):
        for idx in torch.randperm(64).split(16):
            d = ac.dist(s[idx])
            ratio = (d.log_prob(a[idx]) - old[idx]).exp()
            pg = -torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx]).mean()
            vl = nn.functional.mse_loss(ac.v(s[idx]), ret[idx])
            loss = pg + 0.5 * vl - 0.01 * d.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
            opt.step()
