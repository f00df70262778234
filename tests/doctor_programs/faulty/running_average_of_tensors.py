# expect: graph-leak line 14
# A meter keeps an exponential average of the loss tensor itself.

import torch
import torch.nn as nn


class Meter:
    def __init__(self, beta=0.9):
        self.beta = beta
        self.value = None

    def update(self, v):
        self.value = v if self.value is None else self.beta * self.value + (1 - self.beta) * v


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)
meter = Meter()
for it in range(60):
    x = torch.randn(16, 6)
    loss = nn.functional.mse_loss(net(x), x.norm(dim=1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
    meter.update(loss)
print(float(meter.value))
