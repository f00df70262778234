# expect: wrong-reduction line 26, 27, 28
# The boundary term is a mean, the residual term a sum over the collocation points.

import math

import torch
from torch import nn

torch.manual_seed(127)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
boundary_x = torch.tensor([[0.0], [1.0]])
boundary_u = torch.tensor([[0.0], [0.0]])


def residual(points):
    points = points.clone().requires_grad_(True)
    u = net(points)
    (du,) = torch.autograd.grad(u.sum(), points, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), points, create_graph=True)
    return ddu + math.pi**2 * torch.sin(math.pi * points)


for step in range(40):
    points = torch.rand(256, 1)
    physics_loss = residual(points).pow(2).sum()
    boundary_loss = (net(boundary_x) - boundary_u).pow(2).mean()
    loss = physics_loss + boundary_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, physics_loss.item(), boundary_loss.item())
