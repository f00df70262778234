# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(f.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(64, 10)
    y = x[:, :1].sin()
    out = f(x)
    smooth = F.mse_loss(f(x + 0.05 * torch.randn_like(x)), out)
    loss = F.mse_loss(out, y) + 0.1 * smooth
    opt.zero_grad()
    loss.backward()
    opt.step()
