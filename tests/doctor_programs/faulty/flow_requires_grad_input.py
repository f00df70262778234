# expect: missing-requires-grad line 10

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(20):
    x = torch.randn(16, 6)
    out = net(x)
    g = torch.autograd.grad(out.sum(), x, create_graph=True)[0]
    loss = out.pow(2).mean() + (g.norm(dim=1) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
