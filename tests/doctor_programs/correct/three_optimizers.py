# expect: nothing
# Actor, critic and temperature with an optimizer each (SAC-like).

import copy

import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
q = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))
qt = copy.deepcopy(q).requires_grad_(False)
log_alpha = torch.zeros(1, requires_grad=True)
a_opt = torch.optim.Adam(actor.parameters(), lr=3e-4)
q_opt = torch.optim.Adam(q.parameters(), lr=3e-4)
t_opt = torch.optim.Adam([log_alpha], lr=3e-4)


def act(s):
    mu, ls = actor(s).chunk(2, 1)
    d = torch.distributions.Normal(mu, ls.clamp(-5, 1).exp())
    u = d.rsample()
    a = torch.tanh(u)
    return a, (d.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(1, keepdim=True)


for it in range(25):
    s, s2 = torch.randn(32, 3), torch.randn(32, 3)
    with torch.no_grad():
        a, _ = act(s)
        a2, lp2 = act(s2)
        y = -s[:, :1].abs() + 0.9 * (qt(torch.cat([s2, a2], 1)) - log_alpha.exp() * lp2)
    q_loss = nn.functional.mse_loss(q(torch.cat([s, a], 1)), y)
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()
    na, lp = act(s)
    a_loss = (log_alpha.exp().detach() * lp - q(torch.cat([s, na], 1))).mean()
    a_opt.zero_grad()
    a_loss.backward()
    a_opt.step()
    t_loss = -(log_alpha * (lp.detach() - 1.0)).mean()
    t_opt.zero_grad()
    t_loss.backward()
    t_opt.step()
    with torch.no_grad():
        for p, t in zip(q.parameters(), qt.parameters()):
            t.lerp_(p, 0.01)
print(q_loss.item(), a_loss.item(), log_alpha.item())
