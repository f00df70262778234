# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
for i in range(20):
    x = torch.randn(32, 8)
    a, b = enc(x + 0.1 * torch.randn_like(x)), enc(x + 0.1 * torch.randn_like(x))
    sim = F.normalize(a, dim=1) @ F.normalize(b, dim=1).t() / 0.2
    loss = F.cross_entropy(sim, torch.arange(32)) + F.mse_loss(a, b)
    opt.zero_grad()
    loss.backward()
    opt.step()
