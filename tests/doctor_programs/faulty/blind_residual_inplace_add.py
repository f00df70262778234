# expect: inplace-saved-tensor line 17
# The residual is added in place onto the output of a sigmoid gate.

import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, d)
        self.gate = nn.Linear(d, d)

    def forward(self, x):
        g = torch.sigmoid(self.gate(x))
        y = g * self.lin(x)
        g.mul_(0.9)
        return y + x


torch.manual_seed(0)
net = nn.Sequential(Gated(6), Gated(6), nn.Linear(6, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(4):
    x = torch.randn(12, 6)
    loss = (net(x) - 1).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
