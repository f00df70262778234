# expect: nothing

import torch
from torch import nn


class STEBin(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1).float()


class BinLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, STEBin.apply(self.weight), self.bias)


torch.manual_seed(0)
net = nn.Sequential(BinLinear(10, 64), nn.BatchNorm1d(64), nn.Hardtanh(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(80):
    x = torch.randn(64, 10)
    y = (x[:, 0] + x[:, 1] > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
