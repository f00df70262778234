# expect: bad-learning-rate line 10, 17
# The hand-written decay is applied per batch: after a dozen batches the rate is below 1e-10.

import torch
from torch import nn


def adjust_learning_rate(optimizer, step, base=0.1):
    for group in optimizer.param_groups:
        group["lr"] = base * 0.1**step


torch.manual_seed(113)
x = torch.randn(240, 6)
y = torch.sin(x.sum(dim=1, keepdim=True))
model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

step = 0
for epoch in range(5):
    for xb, yb in zip(x.split(40), y.split(40)):
        adjust_learning_rate(optimizer, step)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
        step += 1
    print(epoch, loss.item(), optimizer.param_groups[0]["lr"])
