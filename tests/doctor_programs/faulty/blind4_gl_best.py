# expect: graph-leak line 12, 30

import clew as torch
import clew.nn as nn


class Meter:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def update(self, v, k=1):
        self.total += v * k
        self.n += k

    @property
    def avg(self):
        return self.total / self.n


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
meter = Meter()
for i in range(100):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    meter.update(loss, 32)
print(float(meter.avg))
