# expect: nothing
# A learning-rate range test: the rate grows until the loss explodes, then the weights are restored.

import copy
import math

import torch
from torch import nn


def find_lr(net, data, low=1e-5, high=10.0, steps=60):
    saved = copy.deepcopy(net.state_dict())
    opt = torch.optim.SGD(net.parameters(), lr=low)
    best, chosen, lr = math.inf, low, low
    for i in range(steps):
        x, y = data()
        loss = nn.functional.mse_loss(net(x), y)
        if not math.isfinite(loss.item()) or loss.item() > 4 * best:
            break
        if loss.item() < best:
            best, chosen = loss.item(), lr
        opt.zero_grad()
        loss.backward()
        opt.step()
        lr = low * (high / low) ** (i / steps)
        opt.param_groups[0]["lr"] = lr
    net.load_state_dict(saved)
    return chosen / 10


def data():
    x = torch.randn(32, 4)
    return x, x.abs().sum(1, keepdim=True)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))
lr = find_lr(net, data)
opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
for i in range(40):
    x, y = data()
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(lr, loss.item())
