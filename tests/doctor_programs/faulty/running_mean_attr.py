# expect: graph-leak line 19

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))


class Meter:
    def __init__(self):
        self.total = 0
        self.n = 0

    def update(self, v):
        self.total = self.total + v
        self.n += 1


def main():
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    meter = Meter()
    for i in range(40):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        meter.update(loss)
    print(float(meter.total / meter.n))


main()
