# expect: vanishing-gradient line 7, 9

import torch
from torch import nn

torch.manual_seed(0)
layers = [nn.Linear(10, 32), nn.Sigmoid()]
for _ in range(9):
    layers += [nn.Linear(32, 32), nn.Sigmoid()]
layers += [nn.Linear(32, 2)]
net = nn.Sequential(*layers)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
X = torch.randn(256, 10)
y = (X[:, 0] > 0).long()
for ep in range(20):
    for xb, yb in zip(X.split(32), y.split(32)):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if ep % 5 == 0:
        print(ep, loss.item())
