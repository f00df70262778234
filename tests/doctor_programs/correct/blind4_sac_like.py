# expect: nothing

import copy
import torch
from torch import nn
import torch.nn.functional as F


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Sequential(nn.Linear(3, 32), nn.ReLU())
        self.mu, self.ls = nn.Linear(32, 1), nn.Linear(32, 1)

    def forward(self, s):
        h = self.b(s)
        d = torch.distributions.Normal(self.mu(h), self.ls(h).clamp(-3, 1).exp())
        u = d.rsample()
        a = torch.tanh(u)
        lp = d.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)
        return a, lp


torch.manual_seed(0)
pi = Actor()
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
qt = copy.deepcopy(q).requires_grad_(False)
log_alpha = torch.zeros(1, requires_grad=True)
op, oq, oa = (
    torch.optim.Adam(pi.parameters(), lr=1e-3),
    torch.optim.Adam(q.parameters(), lr=1e-3),
    torch.optim.Adam([log_alpha], lr=1e-3),
)
for it in range(120):
    s, s2 = torch.randn(32, 3), torch.randn(32, 3)
    a = torch.rand(32, 1) * 2 - 1
    r = -((a - s[:, :1].tanh()) ** 2)
    alpha = log_alpha.exp().detach()
    with torch.no_grad():
        a2, lp2 = pi(s2)
        y = r + 0.5 * (qt(torch.cat([s2, a2], 1)) - alpha * lp2)
    lq = F.mse_loss(q(torch.cat([s, a], 1)), y)
    oq.zero_grad()
    lq.backward()
    oq.step()
    an, lp = pi(s)
    lpi = (alpha * lp - q(torch.cat([s, an], 1))).mean()
    op.zero_grad()
    lpi.backward()
    op.step()
    la = -(log_alpha * (lp.detach() - 1.0)).mean()
    oa.zero_grad()
    la.backward()
    oa.step()
    with torch.no_grad():
        for p, t in zip(q.parameters(), qt.parameters()):
            t.lerp_(p, 0.02)
    if it % 40 == 0:
        print(it, lq.item(), lpi.item(), alpha.item())
