# expect: bad-learning-rate line 18
# 1e-9 in place of 1e-3.

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--learning-rate", default=1e-9, type=float)
parser.add_argument("--epochs", default=12, type=int)
opts = parser.parse_args()

torch.manual_seed(0)
x = torch.randn(160, 10)
y = (x[:, 0] > x[:, 1]).long()
net = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
optim = torch.optim.Adam(net.parameters(), lr=opts.learning_rate)
for epoch in range(opts.epochs):
    perm = torch.randperm(160)
    for idx in perm.split(32):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        optim.zero_grad()
        loss.backward()
        optim.step()
print(loss.item())
