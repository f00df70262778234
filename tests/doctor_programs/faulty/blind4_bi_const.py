# expect: bad-init line 9, 15

import clew as torch
import clew.nn as nn


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.constant_(m.weight, 0.1)
        nn.init.zeros_(m.bias)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 1))
net.apply(init)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
X = torch.randn(100, 5)
y = torch.sin(X[:, :1] * 2) + X[:, 1:2] * X[:, 2:3]
for i in range(80):
    loss = nn.functional.mse_loss(net(X), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
