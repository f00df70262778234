# expect: nothing
# Two losses over one trunk: retain_graph for the first, and it is needed.

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
a, b = nn.Linear(16, 1), nn.Linear(16, 1)
opt = torch.optim.Adam([*trunk.parameters(), *a.parameters(), *b.parameters()], 1e-3)
for _ in range(15):
    x = torch.randn(16, 4)
    h = trunk(x)
    opt.zero_grad()
    nn.functional.mse_loss(a(h), x[:, :1]).backward(retain_graph=True)
    nn.functional.mse_loss(b(h), x[:, 1:2]).backward()
    opt.step()
