# expect: nothing
# A PINN: derivatives by autograd.grad with create_graph, both terms averaged.

import math

import torch
from torch import nn

torch.manual_seed(253)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
edge = torch.tensor([[0.0], [1.0]])
losses = []
for _ in range(100):
    points = torch.rand(64, 1, requires_grad=True)
    u = net(points)
    (du,) = torch.autograd.grad(u.sum(), points, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), points, create_graph=True)
    physics = (ddu + math.pi**2 * torch.sin(math.pi * points)).pow(2).mean()
    boundary = net(edge).pow(2).mean()
    loss = physics + 10 * boundary
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
