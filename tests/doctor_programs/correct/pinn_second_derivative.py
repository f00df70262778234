# expect: nothing
# u'' = -u with boundary terms; derivatives of the network in the loss.

import torch
from torch import nn

torch.manual_seed(0)
u = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(u.parameters(), lr=3e-3)
for i in range(30):
    x = (torch.rand(32, 1) * 3).requires_grad_()
    y = u(x)
    dy = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]
    d2 = torch.autograd.grad(dy, x, torch.ones_like(dy), create_graph=True)[0]
    zero = torch.zeros(1, 1)
    loss = (
        (d2 + y).pow(2).mean() + (u(zero) - 0).pow(2).mean() + (u(zero + 1.5708) - 1).pow(2).mean()
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
