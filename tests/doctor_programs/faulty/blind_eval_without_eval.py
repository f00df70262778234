# expect: train-eval-mode line 10
# Test-time accuracy is measured with dropout and batch norm in training mode.

import torch
from torch import nn


def accuracy(net, x, y):
    with torch.no_grad():
        pred = net(x).argmax(dim=1)
    return (pred == y).float().mean().item()


torch.manual_seed(0)
X, XT = torch.randn(120, 8), torch.randn(40, 8)
w = torch.randn(8)
y, yt = (X @ w > 0).long(), (XT @ w > 0).long()
net = nn.Sequential(
    nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.4), nn.Linear(32, 2)
)
opt = torch.optim.Adam(net.parameters(), 5e-3)
for epoch in range(8):
    for idx in torch.randperm(120).split(30):
        opt.zero_grad()
        nn.functional.cross_entropy(net(X[idx]), y[idx]).backward()
        opt.step()
    print(epoch, accuracy(net, XT, yt))
