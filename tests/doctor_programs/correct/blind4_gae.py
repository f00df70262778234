# expect: nothing

import clew as torch
import clew.nn as nn
from clew.distributions import Categorical


def gae(r, v, g=0.9, l=0.95):
    adv, a = torch.zeros_like(r), 0.0
    for t in reversed(range(len(r))):
        nv = v[t + 1] if t + 1 < len(r) else torch.zeros_like(v[0])
        a = r[t] + g * nv - v[t] + g * l * a
        adv[t] = a
    return adv


torch.manual_seed(0)
pi = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 2))
vf = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam([*pi.parameters(), *vf.parameters()], lr=3e-3)
for it in range(40):
    S = torch.randn(8, 8, 3)
    dist = Categorical(logits=pi(S))
    a = dist.sample()
    r = (a == (S[..., 0] > 0).long()).float()
    v = vf(S).squeeze(-1)
    adv = gae(r, v.detach())
    ret = adv + v.detach()
    loss = -(
        dist.log_prob(a) * (adv - adv.mean()) / (adv.std() + 1e-6)
    ).mean() + 0.5 * nn.functional.mse_loss(v, ret)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, r.mean().item())
