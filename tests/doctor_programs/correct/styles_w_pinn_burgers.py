# expect: nothing
import torch
import torch.nn as nn
from torch.autograd import grad

torch.manual_seed(6)
torch.set_default_dtype(torch.float32)


def D(y, x):
    return grad(y, x, torch.ones_like(y), create_graph=True)[0]


net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
nu = 0.05
u = lambda t, x: net(torch.cat([t, x], dim=1))


def residual(n):
    t, x = torch.rand(n, 1), torch.rand(n, 1) * 2 - 1
    t.requires_grad_(), x.requires_grad_()
    v = u(t, x)
    v_t, v_x = D(v, t), D(v, x)
    v_xx = D(v_x, x)
    return (v_t + v * v_x - nu * v_xx).pow(2).mean()


def boundary(n):
    x = torch.rand(n, 1) * 2 - 1
    start = (u(torch.zeros(n, 1), x) + torch.sin(torch.pi * x)).pow(2).mean()
    t = torch.rand(n, 1)
    walls = u(t, torch.ones(n, 1)).pow(2).mean() + u(t, -torch.ones(n, 1)).pow(2).mean()
    return start + walls


optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for k in range(30):
    optimizer.zero_grad()
    r, b = residual(64), boundary(32)
    (r + b).backward()
    optimizer.step()
print(float(r), float(b))
