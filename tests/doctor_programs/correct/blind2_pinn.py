# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
x0 = torch.zeros(1, 1)
for i in range(40):
    x = (torch.rand(40, 1) * 2).requires_grad_(True)
    u = net(x)
    du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    loss = (du + u).pow(2).mean() + (net(x0) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
