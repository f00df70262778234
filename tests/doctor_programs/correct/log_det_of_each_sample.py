# expect: nothing
import math

import torch
from torch import nn

torch.manual_seed(5)


def net(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 24), nn.Tanh(), nn.Linear(24, n_out))


conditioners = [net(2, 4) for _ in range(4)]
params = [p for c in conditioners for p in c.parameters()]
optimizer = torch.optim.Adam(params, lr=1e-3)


def encode(x):
    log_det = 0.0
    for c in conditioners:
        a, b = x.chunk(2, dim=1)
        s, t = c(a).chunk(2, dim=1)
        s = torch.tanh(s)
        x = torch.cat([b * s.exp() + t, a], dim=1)
        log_det = log_det + s.sum(1)
    return x, log_det


data = torch.randn(400, 4) @ torch.randn(4, 4)
for step in range(30):
    rows = torch.randint(0, 400, (64,))
    z, log_det = encode(data[rows])
    log_p = -0.5 * (z**2).sum(1) - 2 * math.log(2 * math.pi)
    loss = -(log_p + log_det).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
