# expect: nothing

import torch
from torch import nn
import copy

torch.manual_seed(0)
mk = lambda o: nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, o))  # noqa: E731
q, v, pi = mk(2), mk(1), mk(2)
qt = copy.deepcopy(q).requires_grad_(False)
opt = torch.optim.Adam([*q.parameters(), *v.parameters(), *pi.parameters()], lr=1e-3)
for i in range(40):
    s = torch.randn(64, 4)
    a = torch.randint(0, 2, (64, 1))
    r = s[:, 0]
    s2 = torch.randn(64, 4)
    qs = qt(s).gather(1, a).squeeze(1)
    vs = v(s).squeeze(1)
    u = qs - vs
    lv = (torch.where(u > 0, 0.7, 0.3) * u.pow(2)).mean()
    y = r + 0.95 * v(s2).squeeze(1).detach()
    lq = (q(s).gather(1, a).squeeze(1) - y).pow(2).mean()
    w = (u.detach() * 3).exp().clamp(max=100)
    lp = -(w * nn.functional.log_softmax(pi(s), 1).gather(1, a).squeeze(1)).mean()
    opt.zero_grad()
    (lv + lq + lp).backward()
    opt.step()
    with torch.no_grad():
        for p, t in zip(q.parameters(), qt.parameters()):
            t.lerp_(p, 0.01)
