# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
u = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
k = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam([*u.parameters(), *k.parameters()], lr=2e-3)
for i in range(30):
    x = torch.rand(64, 2, requires_grad=True)
    out = u(x)
    g = torch.autograd.grad(out.sum(), x, create_graph=True)[0]
    gxx = torch.autograd.grad(g[:, 0].sum(), x, create_graph=True)[0][:, :1]
    res = nn.functional.mse_loss(g[:, 1:], k(x) * gxx)
    xd = torch.rand(32, 2)
    data = nn.functional.mse_loss(u(xd), torch.sin(3 * xd[:, :1]))
    loss = res + data
    opt.zero_grad()
    loss.backward()
    opt.step()
