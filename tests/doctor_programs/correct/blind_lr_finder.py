# expect: nothing
# A learning-rate range test that ends when the loss grows, then restores the weights and trains.

import copy
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = x.sum(1, keepdim=True)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
start = copy.deepcopy(net.state_dict())
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
best, lrs = float("inf"), []
for i in range(40):
    opt.param_groups[0]["lr"] = 1e-4 * 1.25**i
    opt.zero_grad()
    l = nn.functional.mse_loss(net(x), y)
    l.backward()
    opt.step()
    lrs.append((opt.param_groups[0]["lr"], l.item()))
    best = min(best, l.item())
    if l.item() > 4 * best:
        break
net.load_state_dict(start)
opt = torch.optim.SGD(net.parameters(), lr=min(lrs, key=lambda t: t[1])[0] / 10)
for _ in range(30):
    opt.zero_grad()
    l = nn.functional.mse_loss(net(x), y)
    l.backward()
    opt.step()
print(l.item())
