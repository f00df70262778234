# expect: detached-graph line 26, 27
import torch
import torch.nn as nn
import torch.nn.functional as F


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 12))
        self.label = nn.Linear(12, 3)
        self.domain = nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 1))

    def forward(self, x, lam):
        with torch.no_grad():
            h = self.f(x)
        return self.label(h), self.domain(Reverse.apply(h, lam)).squeeze(1)


def source(n):
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 4) * 0.4
    x[torch.arange(n), y] += 1.5
    return x, y


torch.manual_seed(1515)
net = DANN()
opt = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)
for i in range(40):
    lam = 2 / (1 + torch.exp(torch.tensor(-10 * i / 40))) - 1
    xs, ys = source(32)
    xt = source(32)[0] + torch.tensor([0.5, -0.5, 0.0, 1.0])
    cls, ds = net(xs, float(lam))
    _, dt = net(xt, float(lam))
    d_loss = F.binary_cross_entropy_with_logits(torch.cat([ds, dt]), torch.cat([torch.zeros(32), torch.ones(32)]))
    loss = F.cross_entropy(cls, ys) + 0.3 * d_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
