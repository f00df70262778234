# expect: nothing
# Sobolev training: the derivative of the network enters the loss.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(40):
    x = (torch.rand(32, 1) * 6 - 3).requires_grad_()
    y = net(x)
    (dy,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    loss = (y - x.sin()).pow(2).mean() + 0.5 * (dy - x.cos()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
