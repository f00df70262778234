# expect: detached-graph line 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
enc = nn.Sequential(nn.Linear(12, 16), nn.ReLU())
to_mu, to_logvar = nn.Linear(16, 4), nn.Linear(16, 4)
dec = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 12))
params = [p for m in (enc, to_mu, to_logvar, dec) for p in m.parameters()]
opt = torch.optim.Adam(params, lr=2e-3)
x = torch.rand(64, 12)
for i in range(40):
    h = enc(x)
    mu, logvar = to_mu(h), to_logvar(h)
    std = (0.5 * logvar).exp().detach()
    z = mu + std * torch.randn_like(mu)
    rec = dec(z)
    loss = F.binary_cross_entropy_with_logits(rec, x, reduction="sum") / 64
    loss = loss - 0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum() / 64
    opt.zero_grad()
    loss.backward()
    opt.step()
