# expect: param-unused line 16, 39
import math
import torch as th
import torch.nn as nn


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.1), nn.Linear(h, h), nn.LeakyReLU(0.1), nn.Linear(h, o))


class Affine(nn.Module):
    def __init__(self, d, flip):
        super().__init__()
        self.flip = flip
        self.st = mlp(d // 2, 32, d)
        self.scale = nn.Parameter(th.zeros(d // 2))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.st(a).chunk(2, 1)
        s = th.tanh(s)
        b = b * s.exp() + t
        out = th.cat([b, a] if self.flip else [a, b], 1)
        return out, s.sum(1)


class Squash(nn.Module):
    def forward(self, x):
        y = x.sigmoid().clamp(1e-5, 1 - 1e-5)
        return y, (y.log() + (1 - y).log()).sum(1)


class Flow(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.layers = nn.ModuleList([Affine(d, k % 2 == 1) for k in range(n)])
        self.norm = nn.LayerNorm(d)

    def log_prob(self, x):
        total = x.new_zeros(len(x))
        for layer in self.layers:
            x, ld = layer(x)
            total = total + ld
        prior = (-0.5 * x ** 2 - 0.5 * math.log(2 * math.pi)).sum(1)
        return prior + total


def moons(n):
    t = th.rand(n) * math.pi
    side = (th.rand(n) < 0.5).float()
    x = th.stack([th.cos(t) * (1 - 2 * side) + side, th.sin(t) * (1 - 2 * side) + 0.5 * side], 1)
    return x + 0.05 * th.randn(n, 2)


th.manual_seed(1)
flow = Flow(2, 4)
if __name__ == "__main__":
    optim = th.optim.Adam(flow.parameters(), 2e-3)
    for i in range(40):
        nll = -flow.log_prob(moons(64)).mean()
        optim.zero_grad()
        nll.backward()
        optim.step()
    print("nll", nll.item())
