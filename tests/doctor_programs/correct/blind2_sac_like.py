# expect: nothing

import copy
import clew as torch
import clew.nn as nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
at, ct = copy.deepcopy(actor), copy.deepcopy(critic)
oa = torch.optim.Adam(actor.parameters(), 1e-3)
oc = torch.optim.Adam(critic.parameters(), 2e-3)
for i in range(40):
    s, s2 = torch.randn(32, 3), torch.randn(32, 3)
    a = torch.rand(32, 1) * 2 - 1
    r = -((a - torch.tanh(s[:, :1])) ** 2)
    y = r + 0.5 * ct(torch.cat([s2, at(s2)], 1)).detach()
    cl = nn.functional.mse_loss(critic(torch.cat([s, a], 1)), y)
    oc.zero_grad()
    cl.backward()
    oc.step()
    al = -critic(torch.cat([s, actor(s)], 1)).mean()
    oa.zero_grad()
    al.backward()
    oa.step()
    for n, t in ((actor, at), (critic, ct)):
        for p, q in zip(n.parameters(), t.parameters()):
            q.data.copy_(0.05 * p.data + 0.95 * q.data)
print(cl.item(), al.item())
