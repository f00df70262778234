# expect: target-not-detached line 14, 16, 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
pred = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16))
opt = torch.optim.SGD(list(enc.parameters()) + list(pred.parameters()), lr=0.05)
for i in range(30):
    x = torch.randn(32, 10)
    a, b = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    za, zb = enc(a), enc(b)
    pa, pb = F.normalize(pred(za), dim=1), F.normalize(pred(zb), dim=1)
    ta, tb = F.normalize(za, dim=1), F.normalize(zb, dim=1)
    loss = F.mse_loss(pa, tb) + F.mse_loss(pb, ta)
    opt.zero_grad()
    loss.backward()
    opt.step()
