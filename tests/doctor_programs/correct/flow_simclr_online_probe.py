# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
probe = nn.Linear(16, 3)
opt = torch.optim.Adam(list(enc.parameters()) + list(probe.parameters()), lr=1e-3)
for i in range(30):
    x = torch.randn(32, 10)
    y = x[:, :3].argmax(1)
    z1, z2 = enc(x + 0.1 * torch.randn_like(x)), enc(x + 0.1 * torch.randn_like(x))
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.t() / 0.5
    sim = sim.masked_fill(torch.eye(64, dtype=torch.bool), -1e9)
    target = torch.cat([torch.arange(32) + 32, torch.arange(32)])
    loss = F.cross_entropy(sim, target) + F.cross_entropy(probe(z1.detach()), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
