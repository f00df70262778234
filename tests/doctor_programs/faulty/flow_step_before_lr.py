# expect: step-before-backward line 16

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(8, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
X = torch.randn(100, 8)
Y = (X[:, 0] > 0).long()
for ep in range(4):
    for xb, yb in zip(X.split(20), Y.split(20)):
        opt.zero_grad()
        out = net(xb)
        loss = nn.functional.cross_entropy(out, yb)
        opt.step()
        loss.backward()
