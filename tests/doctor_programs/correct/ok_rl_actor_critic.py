# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
pi = nn.Linear(32, 2)
vf = nn.Linear(32, 1)
opt = torch.optim.Adam([*net.parameters(), *pi.parameters(), *vf.parameters()], lr=1e-2)
for i in range(20):
    s = torch.randn(64, 4)
    h = net(s)
    logp = F.log_softmax(pi(h), 1)
    a = torch.multinomial(logp.exp().detach(), 1)
    r = s[:, 0] * (a[:, 0] * 2 - 1)
    v = vf(h).squeeze(1)
    adv = (r - v).detach()
    loss = -(logp.gather(1, a).squeeze(1) * adv).sum() + F.mse_loss(v, r)
    opt.zero_grad()
    loss.backward()
    opt.step()
