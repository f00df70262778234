# expect: nothing
# A physics-informed net: second derivatives of the output with respect to the input.

import torch
from torch import nn

torch.manual_seed(0)
u = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
opt = torch.optim.Adam(u.parameters(), 2e-3)
bc = torch.tensor([[0.0], [1.0]])
for it in range(25):
    x = torch.rand(32, 1, requires_grad=True)
    y = u(x)
    dy = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]
    d2 = torch.autograd.grad(dy, x, torch.ones_like(dy), create_graph=True)[0]
    res = (d2 + torch.pi**2 * torch.sin(torch.pi * x)).pow(2).mean()
    edge = u(bc).pow(2).mean()
    l = res + 10 * edge
    opt.zero_grad()
    l.backward()
    opt.step()
print(res.item(), edge.item())
