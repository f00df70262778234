# expect: nothing
# Smoothed loss kept as a detached tensor on an attribute.

import clew as torch
from clew import nn


class Tracker:
    def __init__(self):
        self.value, self.best = None, None

    def add(self, loss):
        loss = loss.detach()
        self.value = loss if self.value is None else 0.9 * self.value + 0.1 * loss
        self.best = self.value if self.best is None else torch.minimum(self.best, self.value)


torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
tracker = Tracker()
for i in range(40):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
    tracker.add(loss)
print(tracker.value.item(), tracker.best.item())
