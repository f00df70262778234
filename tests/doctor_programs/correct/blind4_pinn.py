# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
u = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(u.parameters(), lr=5e-3)
# u' = -u, u(0) = 1
for it in range(200):
    x = (torch.rand(64, 1) * 2).requires_grad_(True)
    ux = u(x)
    du = torch.autograd.grad(ux, x, torch.ones_like(ux), create_graph=True)[0]
    res = ((du + ux) ** 2).mean()
    bc = (u(torch.zeros(1, 1)) - 1).pow(2).mean()
    loss = res + bc
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 0:
        print(it, loss.item())
