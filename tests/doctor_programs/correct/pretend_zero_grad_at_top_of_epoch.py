# expect: nothing
# Full-batch gradient: one zero_grad per epoch, sums over chunks with their share of the data.

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(96, 5)
y = x[:, :1].sin()
net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(25):
    opt.zero_grad()
    for xb, yb in zip(x.split(32), y.split(32)):
        loss = nn.functional.mse_loss(net(xb), yb, reduction="sum") / len(x)
        loss.backward()
    opt.step()
print(loss.item())
