# expect: nan-origin line 14

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(30):
    x = torch.randn(16, 4)
    out = net(x)
    mu, s = out[:, 0], out[:, 1]
    sigma = torch.relu(s)
    ll = -0.5 * ((x[:, 0] - mu) / sigma) ** 2 - torch.log(sigma)
    loss = -ll.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
