# expect: bad-learning-rate line 15
# A rate of 1e-9 with plain SGD: nothing moves.

import argparse

import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--lr", type=float, default=1e-9)
ap.add_argument("--steps", type=int, default=40)
args = ap.parse_args([])
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Linear(20, 1))
opt = torch.optim.SGD(net.parameters(), lr=args.lr)
x = torch.randn(64, 6)
y = x.mean(1, keepdim=True)
for _ in range(args.steps):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
print(loss.item())
