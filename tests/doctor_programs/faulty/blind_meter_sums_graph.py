# expect: graph-leak line 13
# An AverageMeter sums the loss tensors.

import torch
from torch import nn


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def train(model, opt, meter, steps):
    model.train()
    for _ in range(steps):
        x = torch.randn(16, 7)
        loss = nn.functional.smooth_l1_loss(model(x), x.max(1, keepdim=True).values)
        opt.zero_grad()
        loss.backward()
        opt.step()
        meter.update(loss, len(x))


torch.manual_seed(0)
model, meter = nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 1)), AverageMeter()
train(model, torch.optim.Adam(model.parameters(), 1e-3), meter, 60)
print(float(meter.avg))
