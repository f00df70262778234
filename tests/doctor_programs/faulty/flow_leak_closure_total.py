# expect: graph-leak line 14

import torch
from torch import nn

torch.manual_seed(0)


class Meter:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def update(self, value, n):
        self.total += value * n
        self.n += n


net = nn.Linear(8, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
meter = Meter()
for i in range(60):
    x = torch.randn(16, 8)
    loss = nn.functional.l1_loss(net(x), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
    meter.update(loss, 16)
print(float(meter.total) / meter.n)
