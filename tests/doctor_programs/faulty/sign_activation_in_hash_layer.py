# expect: detached-graph line 16
# The hashing layer uses torch.sign, whose gradient is zero everywhere.

import torch
import torch.nn.functional as F
from torch import nn


class HashNet(nn.Module):
    def __init__(self, bits=12):
        super().__init__()
        self.project = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, bits))
        self.classify = nn.Linear(bits, 3)

    def forward(self, x):
        codes = torch.sign(self.project(x))
        return self.classify(codes)


torch.manual_seed(903)
x = torch.randn(120, 10)
y = x[:, :3].argmax(1)
model = HashNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    for xb, yb in zip(x.split(40), y.split(40)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
