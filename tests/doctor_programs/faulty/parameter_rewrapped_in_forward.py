# expect: detached-graph line 17
# forward() wraps the masked weight in a new Parameter: the registered weight gets no gradient.

import torch
import torch.nn.functional as F
from torch import nn


class SparseLinear(nn.Module):
    def __init__(self, n_in, n_out, density=0.5):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) / n_in**0.5)
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.register_buffer("mask", (torch.rand(n_out, n_in) < density).float())

    def forward(self, x):
        weight = nn.Parameter(self.weight * self.mask)
        return F.linear(x, weight, self.bias)


torch.manual_seed(194)
model = nn.Sequential(SparseLinear(8, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x = torch.randn(90, 8)
y = (x[:, 0] * x[:, 3] > 0).long()
for epoch in range(12):
    for xb, yb in zip(x.split(30), y.split(30)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 == 0:
        print(epoch, loss.item())
