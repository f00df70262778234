# expect: vanishing-gradient line 13, 18
# A deep stack of sigmoids.

import itertools

import torch
import torch.nn as nn


def mlp(sizes, act):
    layers = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


torch.manual_seed(0)
net = mlp([10] + [32] * 14 + [3], nn.Sigmoid)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(32, 10)
    y = x[:, :3].argmax(1)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
