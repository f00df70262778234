# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F


class Ternary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w):
        ctx.save_for_backward(w)
        return torch.sign(w) * (w.abs() > 0.05)

    @staticmethod
    def backward(ctx, grad):
        (w,) = ctx.saved_tensors
        return grad * (w.abs() <= 1)


class TernaryLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, Ternary.apply(self.weight), self.bias)


torch.manual_seed(2)
x = torch.randn(200, 8)
y = (x[:, 0] - x[:, 3] > 0).long()
net = nn.Sequential(TernaryLinear(8, 24), nn.BatchNorm1d(24), nn.Hardtanh(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(40):
    rows = torch.randint(0, 200, (50,))
    loss = F.cross_entropy(net(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        net[0].weight.clamp_(-1, 1)
