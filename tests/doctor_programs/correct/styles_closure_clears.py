# expect: nothing
import torch
from torch import nn

torch.manual_seed(5)


class ResidualMLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.inp = nn.Linear(2, d)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(d, d), nn.Tanh()) for _ in range(3))
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        h = self.inp(x)
        for b in self.blocks:
            h = h + b(h)
        return self.out(h)


def reset(module):
    for p in module.parameters():
        p.grad = None


def data_term(net, x, u):
    return (net(x) - u).pow(2).mean()


def smooth_term(net, x):
    x = x.clone().requires_grad_(True)
    g, = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    return g.pow(2).mean()


net = ResidualMLP(16)
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
pts = torch.rand(64, 2)
u = (pts[:, :1] * 3).sin() * pts[:, 1:]


def closure():
    reset(net)
    fit = data_term(net, pts, u)
    fit.backward()
    smooth = 1e-3 * smooth_term(net, torch.rand(64, 2))
    smooth.backward()
    return fit + smooth


for it in range(25):
    value = opt.step(closure)
print(float(value))
