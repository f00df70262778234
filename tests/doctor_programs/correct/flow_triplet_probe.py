# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
probe = nn.Linear(16, 3)
opt = torch.optim.Adam(list(enc.parameters()) + list(probe.parameters()), lr=1e-3)
for i in range(30):
    a = torch.randn(32, 10)
    y = a[:, :3].argmax(1)
    p, n = a + 0.1 * torch.randn_like(a), torch.randn(32, 10)
    ea, ep, en = enc(a), enc(p), enc(n)
    trip = F.relu((ea - ep).pow(2).sum(1) - (ea - en).pow(2).sum(1) + 1.0).mean()
    loss = trip + F.cross_entropy(probe(ea.detach()), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
