# expect: nothing
# u' = -u by a closure: the points ask for gradients, and nobody reads what backward adds to them.

import torch
from torch import nn

torch.manual_seed(13)
net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
points = torch.linspace(0, 2, 20)[:, None].requires_grad_(True)
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=15, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    u = net(points)
    (slope,) = torch.autograd.grad(u.sum(), points, create_graph=True)
    loss = (slope + u).square().mean() + (u[0] - 1).square().sum()
    loss.backward()
    return loss


for _ in range(4):
    print(optimizer.step(closure).item())
