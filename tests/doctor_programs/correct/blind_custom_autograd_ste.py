# expect: nothing
# Straight-through binarisation as a custom autograd function.

import torch
from torch import nn


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1).to(g.dtype)


class BinaryLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, Sign.apply(self.weight), self.bias)


torch.manual_seed(0)
net = nn.Sequential(BinaryLinear(6, 32), nn.BatchNorm1d(32), nn.Hardtanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(128, 6)
y = (x[:, 0] > x[:, 1]).long()
for _ in range(25):
    opt.zero_grad()
    l = nn.functional.cross_entropy(net(x), y)
    l.backward()
    opt.step()
    with torch.no_grad():
        net[0].weight.clamp_(-1, 1)
print(l.item())
