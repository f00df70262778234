# expect: inplace-saved-tensor line 20
# The actor's loss is back-propagated after the critic has stepped.

import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
a_opt = torch.optim.Adam(actor.parameters(), 1e-3)
c_opt = torch.optim.Adam(critic.parameters(), 1e-3)
for i in range(10):
    s = torch.randn(16, 3)
    act = actor(s)
    actor_loss = -critic(torch.cat([s, act], 1)).mean()
    q = critic(torch.cat([s, act.detach()], 1))
    critic_loss = nn.functional.mse_loss(q, s[:, :1] * act.detach())
    c_opt.zero_grad()
    critic_loss.backward(retain_graph=True)
    c_opt.step()
    a_opt.zero_grad()
    actor_loss.backward()
    a_opt.step()
