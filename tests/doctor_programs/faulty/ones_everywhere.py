# expect: bad-init line 11, 16
# All weights are set to the same value.

import torch
from torch import nn


def reset(net):
    for p in net.parameters():
        with torch.no_grad():
            p.fill_(0.1)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
reset(net)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(net(x), x[:, :1] * x[:, 1:2])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
