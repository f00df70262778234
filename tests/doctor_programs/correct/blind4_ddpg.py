# expect: nothing

import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
actor_t, critic_t = copy.deepcopy(actor), copy.deepcopy(critic)
ao = torch.optim.Adam(actor.parameters(), lr=1e-3)
co = torch.optim.Adam(critic.parameters(), lr=2e-3)
S = torch.randn(500, 3)
A = torch.rand(500, 1) * 2 - 1
R = -((A - torch.tanh(S[:, :1])) ** 2)
S2 = torch.randn(500, 3)
for it in range(120):
    i = torch.randint(0, 500, (32,))
    s, a, r, s2 = S[i], A[i], R[i], S2[i]
    with torch.no_grad():
        y = r + 0.5 * critic_t(torch.cat([s2, actor_t(s2)], 1))
    lc = nn.functional.mse_loss(critic(torch.cat([s, a], 1)), y)
    co.zero_grad()
    lc.backward()
    co.step()
    la = -critic(torch.cat([s, actor(s)], 1)).mean()
    ao.zero_grad()
    la.backward()
    ao.step()
    for src, dst in ((actor, actor_t), (critic, critic_t)):
        for p, pt in zip(src.parameters(), dst.parameters()):
            pt.data.copy_(0.98 * pt.data + 0.02 * p.data)
    if it % 40 == 0:
        print(it, lc.item(), la.item())
