# expect: vanishing-gradient line 11, 16
# A stack of fourteen sigmoid layers built in a loop.

import torch
from torch import nn


def build(depth, width):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.Sigmoid()]
    return nn.Sequential(*layers, nn.Linear(width, 2))


torch.manual_seed(4)
net = build(14, 12)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(64, 12)
y = (x[:, 0] * x[:, 1] > 0).long()
for epoch in range(15):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
