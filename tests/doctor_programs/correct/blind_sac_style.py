# expect: nothing
# SAC: actor loss passes through the critic, whose gradients are cleared before its own step.

import copy
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
critic_t = copy.deepcopy(critic)
log_alpha = torch.zeros(1, requires_grad=True)
oa = torch.optim.Adam(actor.parameters(), 1e-3)
oc = torch.optim.Adam(critic.parameters(), 1e-3)
ol = torch.optim.Adam([log_alpha], 1e-3)


def pi(s):
    mu, ls = actor(s).chunk(2, -1)
    d = torch.distributions.Normal(mu, ls.clamp(-5, 2).exp())
    u = d.rsample()
    return u.tanh(), (d.log_prob(u) - torch.log(1 - u.tanh() ** 2 + 1e-6)).sum(-1, keepdim=True)


for it in range(15):
    s, a, r, s2 = (
        torch.randn(32, 3),
        torch.rand(32, 1) * 2 - 1,
        torch.randn(32, 1),
        torch.randn(32, 3),
    )
    with torch.no_grad():
        a2, lp2 = pi(s2)
        y = r + 0.99 * (critic_t(torch.cat([s2, a2], 1)) - log_alpha.exp() * lp2)
    lc = F.mse_loss(critic(torch.cat([s, a], 1)), y)
    oc.zero_grad()
    lc.backward()
    oc.step()
    an, lp = pi(s)
    la = (log_alpha.exp().detach() * lp - critic(torch.cat([s, an], 1))).mean()
    oa.zero_grad()
    la.backward()
    oa.step()
    ll = -(log_alpha * (lp.detach() - 1.0)).mean()
    ol.zero_grad()
    ll.backward()
    ol.step()
    with torch.no_grad():
        for p, q in zip(critic.parameters(), critic_t.parameters()):
            q.lerp_(p, 0.01)
