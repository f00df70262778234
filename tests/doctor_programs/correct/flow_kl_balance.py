# expect: nothing

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(0)
post, prior, dec = nn.Linear(10, 8), nn.Linear(4, 8), nn.Linear(4, 10)
opt = torch.optim.Adam([*post.parameters(), *prior.parameters(), *dec.parameters()], lr=1e-3)


def dist(h, stop=False):
    m, s = h.chunk(2, -1)
    s = nn.functional.softplus(s) + 0.1
    return Normal(m.detach(), s.detach()) if stop else Normal(m, s)


for i in range(40):
    x = torch.randn(16, 10)
    a = torch.randn(16, 4)
    hq, hp = post(x), prior(a)
    z = dist(hq).rsample()
    kl = (
        0.8 * kl_divergence(dist(hq, True), dist(hp)).sum(1).mean()
        + 0.2 * kl_divergence(dist(hq), dist(hp, True)).sum(1).mean()
    )
    loss = (dec(z) - x).pow(2).sum(1).mean() + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
