# expect: bad-learning-rate line 11
# The configuration's rate is 40 for plain SGD.

import torch
from torch import nn

CFG = dict(optim=dict(name="SGD", kwargs=dict(lr=40.0)), epochs=8)


def make_optimizer(model, cfg):
    return getattr(torch.optim, cfg["name"])(model.parameters(), **cfg["kwargs"])


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = make_optimizer(model, CFG["optim"])
x = torch.randn(100, 5)
y = torch.sin(x.sum(1, keepdim=True))
for epoch in range(CFG["epochs"]):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
