# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
mu, ls = nn.Linear(4, 1), nn.Linear(4, 1)
opt = torch.optim.Adam([*mu.parameters(), *ls.parameters()], lr=1e-3)
for i in range(40):
    x = torch.randn(64, 4)
    y = x[:, :1] + 0.1 * torch.randn(64, 1)
    res = (y - mu(x)) * (-ls(x)).exp()
    loss = (0.5 * res.pow(2) + ls(x)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
