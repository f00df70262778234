# expect: graph-leak line 15
# The metrics dictionary sums loss tensors over the whole run.

import torch
import torch.nn.functional as F
from torch import nn


class Meter:
    def __init__(self):
        self.sums, self.counts = {}, {}

    def update(self, **values):
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + 1

    def average(self, name):
        return float(self.sums[name]) / self.counts[name]


torch.manual_seed(321)
x = torch.randn(300, 8)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
meter = Meter()
for _ in range(5):
    for xb, yb in zip(x.split(20), y.split(20)):
        logits = model(xb)
        loss = F.cross_entropy(logits, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss=loss, accuracy=(logits.argmax(1) == yb).float().mean())
print("accuracy", meter.average("accuracy"))
