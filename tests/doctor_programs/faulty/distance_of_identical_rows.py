# expect: nan-origin line 9
# The square root of a zero distance has an infinite slope.

import clew as torch
from clew import nn


def euclid(a, b):
    return ((a - b) ** 2).sum(-1).sqrt()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(10):
    anchor = torch.randn(8, 5)
    positive = anchor.clone()
    positive[: i % 4] = positive[: i % 4] + 0.1
    negative = torch.randn(8, 5)
    za, zp, zn = net(anchor), net(positive), net(negative)
    loss = torch.relu(euclid(za, zp) - euclid(za, zn) + 1.0).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
