# expect: graph-leak line 14, 32

import torch
import torch.nn as nn

torch.manual_seed(0)


class Meter:
    def __init__(self):
        self.sum, self.n = 0, 0

    def update(self, v, n=1):
        self.sum += v * n
        self.n += n

    @property
    def avg(self):
        return self.sum / self.n


net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
meter = Meter()
for i in range(40):
    x = torch.randn(32, 8)
    y = (x[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    meter.update(loss, 32)
print(float(meter.avg))
