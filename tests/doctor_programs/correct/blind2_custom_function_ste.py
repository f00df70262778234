# expect: nothing

import clew as torch
import clew.nn as nn


class BinSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1).float()


class BinLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i) * 0.1)
        self.bias = nn.Parameter(torch.zeros(o))

    def forward(self, x):
        return x @ BinSTE.apply(self.weight).t() * 0.2 + self.bias


torch.manual_seed(0)
net = nn.Sequential(BinLinear(8, 32), nn.BatchNorm1d(32), nn.Hardtanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(40):
    x = torch.randn(32, 8)
    y = (x[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        net[0].weight.clamp_(-1, 1)
print(loss.item())
