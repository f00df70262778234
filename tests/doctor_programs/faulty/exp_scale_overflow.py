# expect: nan-origin line 16
# exp of an unbounded log-scale overflows to inf for an outlier and inf - inf follows.

import torch
from torch import nn

torch.manual_seed(912)
net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
x = torch.randn(80, 2)
x[61] = torch.tensor([900.0, -900.0])
y = x[:, :1].clamp(-2, 2)
for epoch in range(2):
    for xb, yb in zip(x.split(20), y.split(20)):
        log_scale, mean = net(xb).chunk(2, dim=1)
        scale = torch.exp(log_scale)
        normalised = (yb - mean) / scale
        loss = (0.5 * normalised.pow(2) + log_scale).mean() + 1e-3 * (scale - 1.0).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())
