# expect: missing-step line 19, 26
# 64 batches are to be accumulated but an epoch has 20 and starts by clearing: step() never runs.

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--accumulate", type=int, default=64)
parser.add_argument("--epochs", type=int, default=4)
args = parser.parse_args()

torch.manual_seed(304)
x = torch.randn(200, 5)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(args.epochs):
    optimizer.zero_grad()
    total = 0.0
    for i, (xb, yb) in enumerate(zip(x.split(10), y.split(10)), start=1):
        loss = F.cross_entropy(model(xb), yb) / args.accumulate
        loss.backward()
        total += loss.item() * args.accumulate
        if i % args.accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: {total / 20:.4f}")
