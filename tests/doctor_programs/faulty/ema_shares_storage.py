# expect: aliased-buffer line 11
# The EMA's shadow is made of .data views, averaging it writes into the live weights.

import torch
from torch import nn


class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {name: p.data for name, p in model.named_parameters()}

    def update(self, model):
        for name, p in model.named_parameters():
            old = self.shadow[name]
            old.mul_(self.decay).add_(p.data, alpha=1 - self.decay)

    def copy_to(self, model):
        for name, p in model.named_parameters():
            p.data.copy_(self.shadow[name])


torch.manual_seed(163)
x = torch.randn(128, 7)
y = torch.relu(x[:, :1]) - torch.relu(x[:, 1:2])
model = nn.Sequential(nn.Linear(7, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
ema = EMA(model)
for epoch in range(10):
    for xb, yb in zip(x.split(32), y.split(32)):
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
    if epoch % 3 == 0:
        print(epoch, loss.item())
ema.copy_to(model)
print("with averaged weights", nn.functional.mse_loss(model(x), y).item())
