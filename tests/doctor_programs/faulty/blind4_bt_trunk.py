# expect: backward-twice line 22, 26

import torch
import torch.nn as nn


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
        self.a = nn.Linear(24, 2)
        self.b = nn.Linear(24, 1)


torch.manual_seed(0)
net = Shared()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
X = torch.randn(64, 6)
ya, yb = (X[:, 0] > 0).long(), X[:, 1:2]
for i in range(10):
    opt.zero_grad()
    h = net.trunk(X)
    la = nn.functional.cross_entropy(net.a(h), ya)
    lb = nn.functional.mse_loss(net.b(h), yb)
    la.backward()
    lb.backward()
    opt.step()
