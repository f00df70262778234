# expect: shuffled-labels line 14, 16
# The inputs are permuted every epoch, the labels with another permutation.

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 6)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(8):
    xs = x[torch.randperm(200)]
    ys = y[torch.randperm(200)]
    for i in range(0, 200, 25):
        loss = nn.functional.cross_entropy(net(xs[i : i + 25]), ys[i : i + 25])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
