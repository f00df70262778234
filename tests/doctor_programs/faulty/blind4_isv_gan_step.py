# expect: inplace-saved-tensor line 20

import torch
import torch.nn as nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
a_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
c_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for it in range(50):
    s = torch.randn(32, 3)
    a = torch.rand(32, 1) * 2 - 1
    r = -((a - s[:, :1].tanh()) ** 2)
    c_loss = ((critic(torch.cat([s, a], 1)) - r) ** 2).mean()
    a_loss = -critic(torch.cat([s, actor(s)], 1)).mean()

    c_opt.zero_grad()
    c_loss.backward()
    c_opt.step()

    a_opt.zero_grad()
    a_loss.backward()
    a_opt.step()
