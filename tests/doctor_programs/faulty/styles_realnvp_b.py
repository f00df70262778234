# expect: param-not-in-optimizer line 29, 42
import math
import torch
from torch import nn

torch.manual_seed(20)


class Coupling(nn.Module):
    def __init__(self, flip, h=24):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, h), nn.Tanh(), nn.Linear(h, 2))

    def forward(self, x):
        a, b = x[:, :1], x[:, 1:]
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        out = torch.cat([b, a], 1) if self.flip else torch.cat([a, b], 1)
        return out, s.sum(1)


class Flow(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.layers = tuple(Coupling(bool(i % 2)) for i in range(n))
        self.loc = nn.Parameter(torch.zeros(2))

    def log_prob(self, x):
        logdet = 0.0
        for layer in self.layers:
            x, ld = layer(x)
            logdet = logdet + ld
        base = -0.5 * ((x - self.loc) ** 2).sum(1) - math.log(2 * math.pi)
        return base + logdet


flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=2e-3)
theta = torch.rand(400) * 3.14
moons = torch.stack([theta.cos(), theta.sin()], 1) + 0.1 * torch.randn(400, 2)
for step in range(30):
    batch = moons[torch.randint(0, 400, (80,))]
    loss = -flow.log_prob(batch).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
