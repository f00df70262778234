# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(64, 10)
    a, b = enc(x), enc(x + 0.1 * torch.randn_like(x))
    var = F.relu(1 - a.std(0)).mean() + F.relu(1 - b.std(0)).mean()
    loss = F.mse_loss(a, b) + var
    opt.zero_grad()
    loss.backward()
    opt.step()
