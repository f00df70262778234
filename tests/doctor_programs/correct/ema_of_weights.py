# expect: nothing
# An exponential moving average of the weights that nothing trains directly.

import copy

import torch
from torch import nn


class EMA:
    def __init__(self, model, decay=0.95):
        self.decay = decay
        self.model = copy.deepcopy(model).eval()
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for target, source in zip(self.model.parameters(), model.parameters()):
            target.mul_(self.decay).add_(source, alpha=1 - self.decay)


torch.manual_seed(204)
x = torch.randn(200, 5)
y = torch.sin(x[:, :1]) + 0.1 * torch.randn(200, 1)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
ema = EMA(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
with torch.no_grad():
    first = nn.functional.mse_loss(ema.model(x), y).item()
for _ in range(20):
    for xb, yb in zip(x.split(40), y.split(40)):
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
with torch.no_grad():
    last = nn.functional.mse_loss(ema.model(x), y).item()
print("ema loss", first, last)
