# expect: bad-learning-rate line 8

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(net.parameters(), lr=1e-8)
X = torch.randn(200, 8)
Y = (X[:, 0] > 0).long()
for ep in range(10):
    for xb, yb in zip(X.split(40), Y.split(40)):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, loss.item())
